import type { Host } from '../host.ts';
import { findSetting } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import { settings } from './options/shared.ts';

/**
 * Whether errors are wanted as JSON, as far as the bare words and the settings tell: a command line that does not parse
 * has no options yet. What follows `-f` is a value, whatever it looks like.
 */
export function asksForJson(words: readonly string[], host: Host): boolean {
  const format = typedFormat(words) ?? settingOf(words, host);
  return format === 'json' || format === 'jsonl';
}

function typedFormat(words: readonly string[]): string | undefined {
  let format: string | undefined;
  for (let at = 0; at < words.length && words[at] !== '--'; at += 1) {
    const [word = '', next] = words.slice(at, at + 2);
    if (word === '-f' || word === '--field') at += 1;
    else if (word === '--json') format = 'json';
    else if (word === '-o' || word === '--output') format = next;
    else if (word.startsWith('--output=')) format = word.slice('--output='.length);
    else if (/^-o./.test(word)) format = word.slice('-o'.length);
  }
  return format;
}

function settingOf(words: readonly string[], host: Host): string | undefined {
  const named = words.findIndex((word) => word === '-p' || word === '--profile');
  try {
    const sources = openSources({ '--profile': named === -1 ? undefined : words[named + 1] }, host, false);
    return findSetting(settings.output, sources)?.value;
  } catch {
    // Settings that can't be read have a failure of their own; this one is about something else.
    return undefined;
  }
}
