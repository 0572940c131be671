/** The judges of the torture, with calls that are planted: each sees what it is there to see, and nothing else. */
import { describe, expect, test } from 'vitest';
import type { LoggedRequest } from '../torture/list-service.ts';
import type { Ended } from '../torture/place.ts';
import { alwaysBroken } from '../torture/scenario.ts';
import type { TracedCall } from '../torture/strace.ts';
import { expectShown, goneOn, passedOver, sentUnsynced } from '../torture/torture.ts';

/** A call about the place, at that place in the order. */
function called(at: number, text: string, change: Partial<TracedCall> = {}): TracedCall {
  const call = text.slice(0, text.indexOf('('));
  const isInjected = text.endsWith('(INJECTED)');
  return { call, nth: 1, text, isInside: true, isInjected, beganAt: at, endedAt: at, ...change };
}

const intent = 'write(20</place/state/a.journal>, "[\\"I\\",1,1,0,\\"k1\\"]\\n", 20) = 20';
const otherIntent = intent.replace('k1', 'k2');
const sync = 'fdatasync(20</place/state/a.journal>) = 0';
const failedIntent = `${intent.slice(0, -4)}= -1 EIO (Input/output error) (INJECTED)`;
const failedSync = 'fdatasync(20</place/state/a.journal>) = -1 EIO (Input/output error) (INJECTED)';
const otherSync = 'fdatasync(21</place/state/settings.json>) = 0';
const post = 'write(22<socket:[1]>, "POST /v1.0/sites HTTP/1.1\\r\\nidempotency-key: \\"k1\\"\\r\\n", 60) = 60';
const get = 'write(22<socket:[1]>, "GET /v1.0/sites HTTP/1.1\\r\\n", 30) = 30';

function inOrder(...texts: readonly string[]): readonly TracedCall[] {
  return texts.map((text, at) => called(at, text));
}

describe('a request whose intent is not on disk', () => {
  const sentence = 'the request with key k1 was sent before its intent was on disk';

  test.each<[string, readonly TracedCall[]]>([
    ['written and synced before', inOrder(intent, sync, post)],
    ['written by one writev with the socket', inOrder(intent, sync, post.replace('write', 'writev'))],
    ['a read', inOrder(get)],
  ])('is not reported if it was %s', (_, calls) => {
    expect(sentUnsynced({ calls })).toEqual([]);
  });

  test.each<[string, readonly TracedCall[]]>([
    ['never written', inOrder(post)],
    ['never synced', inOrder(intent, post)],
    ['synced behind it', inOrder(intent, post, sync)],
    ['synced before it was written', inOrder(sync, intent, post)],
    ['that of another one', inOrder(otherIntent, sync, post)],
    ['written, which failed', inOrder(failedIntent, sync, post)],
    ['synced, which failed', inOrder(intent, failedSync, post)],
    ['beside another file that was synced', inOrder(intent, otherSync, post)],
    ['being synced still', [...inOrder(intent, post), called(1, sync, { beganAt: 1, endedAt: 3 })]],
    ['being written still when the sync began', [called(0, intent, { endedAt: 2 }), called(1, sync), called(3, post)]],
    ['sent by a writev', inOrder(intent, post.replace('write', 'writev'))],
  ])('is seen where it was %s', (_, calls) => {
    expect(sentUnsynced({ calls })).toEqual([sentence]);
  });
});

describe('that the calls show what is sent', () => {
  const created: LoggedRequest = { method: 'POST', id: undefined, key: 'k1', fields: {} };

  test('holds where each create that came is among them', () => {
    expect(() =>
      expectShown(inOrder(get, post), [created, { ...created, method: 'GET', key: undefined }]),
    ).not.toThrow();
  });

  test('does not where one comes without a key', () => {
    expect(() => expectShown(inOrder(post), [{ ...created, key: undefined }])).toThrow('strace does not show');
  });

  test.each<[string, readonly string[]]>([
    ['not at all', [intent, sync]],
    ['with another key', [post.replace('k1', 'k2')]],
    ['in another way than is read', [post.replace('idempotency-key: ', 'idempotency-key:')]],
    ['by a call of another name', [post.replace('write', 'sendmsg')]],
    ['on another wire', ['write(22<socket:[1]>, ""..., 60) = 60']],
  ])('does not where one is sent %s', (_, texts) => {
    expect(() => expectShown(inOrder(...texts), [created])).toThrow('strace does not show what is sent');
  });
});

describe('a journal that is used again', () => {
  test.each<[string, readonly TracedCall[]]>([
    ['that never failed', inOrder(intent, sync, otherIntent, sync)],
    ['that is synced once, where it failed', inOrder(intent, failedSync)],
    ['that is written behind a sync that failed', inOrder(failedSync, intent)],
    ['whose other sync was under way', [called(1, failedSync, { endedAt: 3 }), called(2, sync)]],
    ['beside which another file is synced', inOrder(failedSync, otherSync)],
  ])('is not reported for one %s', (_, calls) => {
    expect(goneOn({ calls })).toEqual([]);
  });

  test.each<[string, readonly TracedCall[]]>([
    ['fdatasync', inOrder(intent, failedSync, sync)],
    ['write', inOrder(failedIntent, sync, otherIntent)],
  ])('is seen by its %s', (call, calls) => {
    expect(goneOn({ calls })).toEqual([`a journal whose ${call} had failed was used again`]);
  });
});

describe('a failure that is passed over', () => {
  const rename = 'rename("/place/a", "/place/b") = -1 EIO (Input/output error) (INJECTED)';
  const open = 'openat(AT_FDCWD, "/place/a", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)';

  test.each([
    ['rename', rename, 0, 0],
    ['fdatasync', failedSync, 8, 8],
  ])('is seen of %s', (call, text, exitCode, usual) => {
    expect(passedOver({ calls: inOrder(text), exitCode }, usual)).toEqual([
      `${call} failed, and it ended with ${usual}`,
    ]);
  });

  test('is not reported if the journal had kept room for it, and is if it had not', () => {
    const full = failedIntent.replace('EIO (Input/output error)', 'ENOSPC (No space left on device)');

    expect(passedOver({ calls: inOrder(full, intent), exitCode: 0 }, 0)).toEqual([]);
    expect(passedOver({ calls: inOrder(full, otherIntent), exitCode: 0 }, 0)).toHaveLength(1);
    expect(passedOver({ calls: inOrder(failedIntent, intent), exitCode: 0 }, 0)).toHaveLength(1);
  });

  test.each<[string, TracedCall, number]>([
    ['told', called(0, rename), 10],
    ['of a call that may fail', called(0, open), 0],
    ['of something else', called(0, rename, { isInside: false }), 0],
    ['none', called(0, sync), 0],
    ['of the reserve of a journal', called(0, failedIntent.replace('a.journal', 'a.journal.tmp-listctl-1f')), 0],
    ['of the messages of failed rows', called(0, failedIntent.replace('a.journal', 'a.errors')), 0],
  ])('is not reported if it is %s', (_, call, exitCode) => {
    expect(passedOver({ calls: [call], exitCode }, 0)).toEqual([]);
  });
});

describe('an end that is never right', () => {
  const ended: Ended = { exitCode: 10, stdout: '', stderr: 'listctl: it failed\n', otherwise: undefined };
  const rows = ['items', 'create'];
  const settings = ['profile', 'set'];

  test.each<[string, Partial<Ended>, readonly string[]]>([
    ['a failure that is told', {}, settings],
    ['a failure that is told in JSON', { stderr: '{"error":{}}\n' }, rows],
    ['the usual one', { exitCode: 9 }, rows],
    ['rows in doubt', { exitCode: 8 }, rows],
  ])('is not %s', (_, change, words) => {
    expect(alwaysBroken({ ...ended, ...change }, 9, words)).toEqual([]);
  });

  test.each<[string, Partial<Ended>, readonly string[]]>([
    ['settings in doubt', { exitCode: 8 }, settings],
    ['a token in doubt', { exitCode: 8 }, ['auth', 'login']],
    ['another exit code', { exitCode: 1 }, rows],
    ['none', { exitCode: undefined, otherwise: 'it came to no end' }, rows],
    ['a failure that is not told', { stderr: '' }, rows],
    ['a stack', { stderr: 'listctl: it failed\n    at run (a.js:1:1)\n' }, rows],
  ])('is %s', (_, change, words) => {
    expect(alwaysBroken({ ...ended, ...change }, 9, words)).toHaveLength(1);
  });
});
