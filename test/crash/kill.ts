/** The kill itself: SIGKILL, which no process can do anything about. */
import type { ServedDirectory } from '../support/served-directory.ts';
import type { ClientProcess } from './client.ts';
import type { KillPlan } from './kill-plan.ts';
import type { Wire } from './wire.ts';

/** Kills whom the plan says, unless the session is at its end before; gives how often the service was killed. */
export async function carryOutKill(
  { kind, at, laterMs }: KillPlan,
  running: ClientProcess,
  { service, wire }: { readonly service: ServedDirectory; readonly wire: Wire },
): Promise<number> {
  let hasEnded = false;
  const ended = running.finally(() => {
    hasEnded = true;
  });
  const moment = 'ms' in at ? sleep(at.ms) : wire.writesCame(at.writes).then(() => sleep(at.thenMs));
  await Promise.race([moment, ended]);
  if (hasEnded) return 0;
  if (kind === 'client' || kind === 'both') running.kill('SIGKILL');
  if (kind === 'client') return 0;
  await Promise.all([service.kill(), wire.goDown()]);
  const killed = kind === 'service-first' ? sleep(laterMs).then(() => running.kill('SIGKILL')) : undefined;
  await service.start();
  await wire.comeUp();
  await killed;
  return 1;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
