import packageJson from '../../../package.json' with { type: 'json' };
import type { Diagnosis } from './diagnosis.ts';

/** The newest major of Node that listctl is tested with. */
const newestMajor = 26;

/** The program itself, and what runs it. */
export function programFindings(version: string): readonly Diagnosis[] {
  return [{ check: 'version', status: 'ok', value: version }, nodeFinding(ownNode())];
}

/** @param version as Node has it: `v20.18.1` */
export function nodeFinding(version: string): Diagnosis {
  const oldest = packageJson.engines.node.replace('>=', '');
  const named = { check: 'node', value: version };
  if (compareVersions(version.slice(1), oldest) < 0) {
    return { ...named, status: 'warning', hint: `listctl is made for Node ${oldest} and later: install a newer one` };
  }
  if (Number.parseInt(version.slice(1), 10) > newestMajor) {
    return { ...named, status: 'warning', hint: `listctl is tested with Node up to ${newestMajor}` };
  }
  return { ...named, status: 'ok' };
}

function ownNode(): string {
  // biome-ignore lint/style/noRestrictedGlobals: a constant of the program that runs, and nothing of the world outside.
  return process.version;
}

function compareVersions(one: string, other: string): number {
  const parts = (text: string) => text.split(/[.-]/).map(Number);
  const [theirs, ours] = [parts(one), parts(other)];
  for (const [at, part] of ours.entries()) {
    if (theirs[at] !== part) return (theirs[at] ?? 0) < part ? -1 : 1;
  }
  return 0;
}
