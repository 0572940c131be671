import { type ApiRequest, isRead } from '../../api/transport.ts';
import { Failure } from '../../errors.ts';
import { type JsonValue, printJson } from '../../json.ts';
import { jsonView } from '../../output/json-view.ts';
import { addHelpNotes, type SetUp } from '../command.ts';
import { showDryRun } from '../dry-run.ts';
import { idempotencyKeyFor } from '../idempotency-key.ts';
import { collect, readMembers } from '../options/fields.ts';
import { readBinaryFile } from '../options/files.ts';
import type { Print } from '../printing.ts';
import { type Session, withSession } from '../session.ts';
import { headOf, showAnswer } from './answer.ts';
import { readHeaders, readMethod, readPath } from './request-words.ts';

interface ApiFlags {
  readonly field?: readonly string[];
  readonly input?: string;
  readonly header?: readonly string[];
  readonly include?: boolean;
  readonly dryRun?: boolean;
  readonly idempotencyKey?: string;
}

/** `listctl api METHOD PATH`: any other request, with the same token and care. */
export const setUpApi: SetUp = (command, context) => {
  command
    .argument('<method>', 'GET, POST, PATCH, PUT, DELETE, HEAD or OPTIONS')
    .argument('<path>', 'relative to the base address, with its query')
    .optionsGroup('Request:')
    .option('-f, --field <key=value>', 'a member of a JSON body, as for items create; repeatable', collect)
    .option('--input <file>', 'the body, - for stdin')
    .option('--header <name:value>', 'one more header; repeatable', collect)
    .option('--idempotency-key <key>', 'send what was in doubt again, with its own key')
    .option('--include', 'print the status and the headers of the answer too')
    .option('--dry-run', 'show what would be sent, and change nothing')
    .action((method: string, path: string, flags: ApiFlags) =>
      withSession(context, command, async (session) => {
        const request = await readRequest(method, path, flags, session);
        if (flags.dryRun) return showDryRun([request], session);
        return sendRequest(request, flags.include === true, session);
      }),
    );
  addHelpNotes(command, {
    examples: [
      "listctl api GET 'sites/home/lists/tasks/items/17?expand=fields'",
      'listctl api POST sites/home/lists/tasks/items --input item.json --include',
      'listctl api PATCH sites/home/lists/tasks/items/17 -f fields:=\'{"Title":"x"}\'',
    ],
    exitCodes: {
      0: 'done',
      1: 'refused',
      2: 'wrong usage, nothing sent',
      3: 'credentials',
      4: 'not found',
      5: 'conflict',
      6: 'throttled or unavailable',
      7: 'not reached, or no complete answer to a read',
      8: 'in doubt: a write may have happened',
    },
  });
};

function sendRequest(request: ApiRequest, isIncluded: boolean, session: Session): Promise<void> {
  const { method, path } = request;
  const send = async (print: Print<JsonValue>) => {
    const wire = await session.wire();
    const target = `${method} ${path}`;
    const purpose = { task: target, target, place: `${path} (${method})`, idempotencyKey: keyOf(request) };
    const answer = await wire.ask({ request, purpose: () => purpose, read: (whole) => whole });
    const head = isIncluded ? headOf(answer, wire.hide) : '';
    await showAnswer(answer, head, print, session.host.stdout);
  };
  return session.printing(jsonView, false, send, isRead(method) ? undefined : 'done');
}

async function readRequest(method: string, path: string, flags: ApiFlags, session: Session): Promise<ApiRequest> {
  const verb = readMethod(method);
  const request = { method: verb, path: readPath(path) };
  const body = await readBody(flags, session);
  if (body !== undefined && isRead(verb))
    throw new Failure('usage', `${verb} has no body`, { hint: 'put it in the query' });
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const key = verb === 'POST' ? await idempotencyKeyFor(flags.idempotencyKey, session.sendsKeys) : undefined;
  const keyed = key === undefined ? {} : { 'idempotency-key': `"${key}"` };
  const headers = { accept: 'application/json', ...type, ...keyed, ...readHeaders(flags.header ?? []) };
  return { ...request, headers, ...(body === undefined ? {} : { body }) };
}

async function readBody({ input, field }: ApiFlags, session: Session): Promise<string | Uint8Array | undefined> {
  if (input !== undefined && field !== undefined)
    throw new Failure('usage', '--input and --field: only one makes the body');
  if (input !== undefined) return readBinaryFile(input, session.host);
  return field === undefined ? undefined : printJson(await readMembers({ field }, session));
}

/** The key as it was sent, for the message of a request in doubt. */
function keyOf({ headers }: ApiRequest): string | undefined {
  return headers['idempotency-key']?.replace(/^"(.*)"$/, '$1');
}
