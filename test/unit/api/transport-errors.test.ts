import { expect, it } from 'vitest';
import { toTransportError } from '../../../src/api/transport.ts';

it('knows an aborted wait for a socket, whose code is a number', () => {
  const aborted = new DOMException('This operation was aborted', 'AbortError');
  expect(toTransportError(aborted, false)).toMatchObject({ kind: 'unreachable', reason: 'This operation was aborted' });
});
