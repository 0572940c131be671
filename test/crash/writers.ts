/** Clients that write to the built-in service while it is killed and restarted, and record its responses. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pick, type SeededRandom } from '../support/seeded-random.ts';
import { type ServedDirectory, token } from '../support/served-directory.ts';
import { type Wire, writeCount } from './fault-proxy.ts';
import type { Ledger, WrittenItem } from './ledger.ts';
import type { TextFields } from './list-contents.ts';

/** Writers at work: for who runs beside them, a wire without faults straight into the service's directory. */
export interface Writers extends Wire {
  readonly ledger: Ledger;
  /** How many creates were sent: no more ids than that were given. */
  readonly created: () => number;
}

/** So many write at once. */
const writersMax = 4;

/** Lets them begin; `settled` ends them, with what is under way answered. */
export function startWriters(service: ServedDirectory, path: string, random: SeededRandom): Writers {
  const writers = new WritersAtWork(service.url, path);
  const work = Array.from({ length: writersMax }, (_, at) => writers.work(`w${at}`, random.branch('writer', at)));
  const ended = Promise.all(work);
  // Somebody may never ask how it ended.
  ended.catch(() => {});
  const settled = async () => {
    writers.isStopped = true;
    await ended;
  };
  return {
    ...{ url: `local:${service.directory}`, requests: [], ledger: writers },
    created: () => writers.created,
    goDown: async () => {},
    comeUp: async () => {},
    writesCame: writers.answered.more,
    setCalm: () => {},
    settled,
    close: async () => {
      await settled();
      writers.agent.destroy();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly id: string | undefined;
}

/** An answer with all of its body. */
interface WholeAnswer {
  readonly status: number;
  readonly body: string;
}

/** What a writer does next, and how likely that is. */
const shares = [
  ['create', 0.45],
  ['create-once', 0.15],
  ['update', 0.15],
  ['delete', 0.1],
  ['replay', 0.1],
  ['replay-other', 0.05],
] as const;

class WritersAtWork implements Ledger {
  readonly items: WrittenItem[] = [];
  readonly refusals: string[] = [];
  readonly agent = new Agent({ keepAlive: true });
  readonly answered = writeCount();
  unanswered = 0;
  created = 0;
  isStopped = false;
  readonly #items: string;

  constructor(url: string, path: string) {
    this.#items = url + path;
  }

  /** Each works on items of its own alone, one write after the other. */
  async work(name: string, random: SeededRandom): Promise<void> {
    const own: WrittenItem[] = [];
    while (!this.isStopped) {
      const what = pick(random.next(), shares);
      const known = own.filter(({ ids }) => ids.length > 0);
      const item = known[random.whole(known.length)];
      if (what === 'create' || what === 'create-once' || item === undefined) {
        own.push(await this.#create(`${name}-${own.length}`, what !== 'create-once'));
      } else if (what === 'update' || what === 'delete') await this.#change(item, what);
      else await this.#replay(item, what === 'replay');
    }
  }

  async #create(mark: string, isKeyed: boolean): Promise<WrittenItem> {
    const sent = { Mark: mark, Note: 'first' };
    const item: WrittenItem = { mark, key: isKeyed ? `key-${mark}` : undefined, sent, ids: [], may: [undefined, sent] };
    this.items.push(item);
    const answer = isKeyed
      ? await this.#untilAnswered(() => this.#send('POST', '', sent, item.key))
      : await this.#send('POST', '', sent);
    if (answer === undefined) return item;
    if (answer.status !== 201 || answer.id === undefined) this.#refuse('create', mark, answer);
    else {
      item.ids.push(answer.id);
      item.may = [sent];
    }
    return item;
  }

  async #change(item: WrittenItem, what: 'update' | 'delete'): Promise<void> {
    const [now] = item.may;
    const [id = ''] = item.ids;
    if (now === undefined) return;
    const next = what === 'update' ? { ...now, Note: `${now['Note']}+` } : undefined;
    item.may = [now, next];
    let attempts = 0;
    const answer = await this.#untilAnswered(() => {
      attempts += 1;
      return next === undefined
        ? this.#send('DELETE', `/${id}`)
        : this.#send('PATCH', `/${id}`, { Note: next['Note'] ?? '' });
    });
    const isDone = answer.status === (next === undefined ? 204 : 200);
    // It was deleted by an attempt without a response.
    const wasDone = next === undefined && answer.status === 404 && attempts > 1;
    if (isDone || wasDone) item.may = [next];
    else this.#refuse(what, item.mark, answer);
  }

  /** Sends a create again that was answered; with another body it must be refused. */
  async #replay(item: WrittenItem, isSame: boolean): Promise<void> {
    const { key, sent, mark, ids } = item;
    if (key === undefined) return;
    const body = isSame ? sent : { Mark: mark, Note: 'another body' };
    const answer = await this.#untilAnswered(() => this.#send('POST', '', body, key));
    if (isSame && answer.status === 201 && answer.id !== undefined) ids.push(answer.id);
    else if (isSame || answer.status !== 422) this.#refuse(isSame ? 'replay' : 'replay-other', mark, answer);
  }

  #refuse(what: string, mark: string, { status }: Answer): void {
    this.refusals.push(`${status} to ${what} of ${mark}`);
  }

  async #untilAnswered(send: () => Promise<Answer | undefined>): Promise<Answer> {
    // A minute: the service starts slowly on a busy machine.
    for (let sinceStopped = 0; sinceStopped < 6000; sinceStopped += this.isStopped ? 1 : 0) {
      const answer = await send();
      if (answer !== undefined) return answer;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error('the service answers nobody any more');
  }

  /** The response, if it is complete; one that is not JSON is a refusal, since it must not be sent again. */
  async #send(method: string, path: string, fields?: TextFields, key?: string): Promise<Answer | undefined> {
    const whole = await this.#exchange(method, path, fields, key);
    if (whole === undefined) return undefined;
    const { status, body } = whole;
    try {
      const { id } = body === '' ? {} : (JSON.parse(body) as { readonly id?: string });
      return { status, id };
    } catch {
      this.refusals.push(`${status} to ${method} with a body that is no JSON: ${body.slice(0, 100)}`);
      return { status, id: undefined };
    }
  }

  async #exchange(method: string, path: string, fields?: TextFields, key?: string): Promise<WholeAnswer | undefined> {
    if (method === 'POST') this.created += 1;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(fields === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    };
    try {
      const sent = request(this.#items + path, { agent: this.agent, method, headers });
      sent.end(fields === undefined ? undefined : JSON.stringify({ fields }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const body = await text(response);
      this.answered.add();
      return { status: response.statusCode ?? 0, body };
    } catch {
      this.unanswered += 1;
      return undefined;
    }
  }
}
