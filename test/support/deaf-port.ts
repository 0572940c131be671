import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';

/** A port that answers no SYN any more: its process is stopped, and its queue of connections full (Linux). */
export async function deafPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const listen = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  // What fits into the queue is connected by then; the others wait for an answer that does not come.
  await new Promise((resolve) => setTimeout(resolve, 200));
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const filler of fillers) filler.destroy();
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}
