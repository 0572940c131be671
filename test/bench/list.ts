/** A list of Microsoft Graph, read to its end, beside a bare loop over undici: whole processes that take turns. */
import { join } from 'node:path';
import { env } from 'node:process';
import { listctlFile } from '../support/listctl.ts';
import { figuresOf, measure, serving, takeTurns, type Usage } from './child.ts';

const service = join(import.meta.dirname, 'pages-service.js');
const loop = join(import.meta.dirname, 'pages-loop.js');

/** How many items a second each client lists as JSONL, and what that takes. */
export async function measureList(node: string, items: number, rounds: number): Promise<string> {
  using pages = await serving(node, service, [String(items)]);
  const settings = { LISTCTL_BASE_URL: pages.url, LISTCTL_TOKEN: 'bench-token', LISTCTL_SERVICE: 'graph' };
  const words = ['items', 'list', '-s', 'home', '-l', 'tasks', '-o', 'jsonl'];
  const clients: readonly (readonly [name: string, run: () => Promise<Usage>])[] = [
    ['bare undici request', () => measure(node, [loop, pages.url], {})],
    ['listctl items list', () => measure(node, [listctlFile, ...words], { PATH: env['PATH'], ...settings })],
  ];
  const usages = await takeTurns(clients, rounds);
  const lines = clients.map(([name], at) => {
    const { perSecond, cpuMicros, peakMiB } = figuresOf(usages[at] ?? [], items);
    return `${name.padEnd(22)}${Math.round(perSecond)} items/s  ${cpuMicros.toFixed(1)} µs/item  ${Math.round(peakMiB)} MiB`;
  });
  return `${lines.join('\n')}\n`;
}
