/** Responses that belong to another request, or have no meaning for the one that was sent. */
import { describe, expect, test } from 'vitest';
import { answerBytes } from '../../support/fault-answer.ts';
import { type AnswerStep, always, inOrder } from '../../support/fault-plan.ts';
import { runAgainst, verbs, ways } from '../../support/fault-ways.ts';

const answering = (body: unknown, status = 200): AnswerStep => ({
  answer: answerBytes(status, { body }),
  applies: true,
});
const other = answering({ id: '18', fields: { Title: 'Of another item' } });

describe.each(ways)('over $name', (way) => {
  test('a response about another item is not used: a read fails, an update is in doubt', async () => {
    const read = await runAgainst(way, verbs.get, { plan: always(other) });
    const update = await runAgainst(way, verbs.update, { plan: always(other) });

    expect([read.exitCode, read.attempts, update.exitCode, update.attempts]).toEqual([1, 5, 8, 5]);
    for (const { stderr } of [read, update]) expect(stderr).toContain('is about item "18", which was not requested');
    // Each on a connection of its own: the one before is a response behind.
    expect(new Set(read.log.map(({ connection }) => connection)).size).toBe(5);
  });

  test('the same request on another connection gets the right response', async () => {
    const read = await runAgainst(way, verbs.get, { plan: inOrder(other) });
    const update = await runAgainst(way, verbs.update, { plan: inOrder(other) });

    expect([read, update].map(({ exitCode, stdout }) => [exitCode, JSON.parse(stdout).id])).toEqual([
      [0, '17'],
      [0, '17'],
    ]);
  });

  test('the digits of a numeric id are compared, and a long id is cut in the message', async () => {
    const read = await runAgainst(way, verbs.get, { plan: always(answering({ id: 17, fields: {} })) });
    const long = await runAgainst(way, verbs.get, { plan: always(answering({ id: 'x'.repeat(5000) })) });

    expect([read.exitCode, JSON.parse(read.stdout).id, long.exitCode]).toEqual([0, '17', 1]);
    expect(long.stderr.length).toBeLessThan(500);
  });

  test.each([
    { error: 'quota exceeded' },
    { status: 'queued' },
    { id: null },
    { id: '17', fields: {}, error: { code: 'quota' } },
    { fields: 'Title' },
  ])('an update with the response 200 %j is in doubt', async (body) => {
    const { exitCode } = await runAgainst(way, verbs.update, { plan: always(answering(body)) });

    expect(exitCode).toBe(8);
  });

  test.each([
    [verbs.update, { fields: { Title: 'Bread' } }],
    [verbs.update, { id: '17' }],
    [verbs.update, { id: '17', fields: {}, error: null }],
    [verbs.delete, { status: 'queued' }],
  ])('%j with the response 200 %j is done', async (words, body) => {
    const { exitCode } = await runAgainst(way, words, { plan: always(answering(body)) });

    expect(exitCode).toBe(0);
  });

  test('a deletion with a 200 that has an error is in doubt', async () => {
    const { exitCode } = await runAgainst(way, verbs.delete, { plan: always(answering({ error: 'locked' })) });

    expect(exitCode).toBe(8);
  });

  test('an item behind Location that has another id proves no create', async () => {
    const headers = [['Location', '/v1.0/sites/home/lists/tasks/items/42']] as const;
    const created: AnswerStep = { answer: answerBytes(201, { headers }), applies: true };
    const wrong = answering({ id: '41', fields: { Title: 'Milk' } });

    const { exitCode, attempts } = await runAgainst(way, verbs.create, { plan: inOrder(created, wrong) });

    expect([exitCode, attempts]).toEqual([8, 2]);
  });
});
