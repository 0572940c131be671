/** The built-in service of Microsoft Graph on a port, with lists of columns, and listctl with it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultyService } from '../../src/server/fault-injection.ts';
import { parseSchema } from '../../src/server/graph/columns.ts';
import { graphErrorResponder } from '../../src/server/graph/errors.ts';
import { graphService } from '../../src/server/graph/service.ts';
import type { Service } from '../../src/server/message.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/server/store.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { type Run, run, type World } from './test-host.ts';

interface GraphServer extends AsyncDisposable {
  /** A directory for files, which is the current one of commands. */
  readonly path: string;
  readonly requests: readonly { readonly request: string; readonly body: string }[];
  /** The service behind the server. */
  readonly service: Service;
  /** Settings for the list `Books` of a site. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs listctl with the words; those of a text are divided at blanks. */
  listctl(words: string | readonly string[], world?: World): Promise<Run>;
  /** The JSON that it prints; throws if it fails. */
  json(words: string): Promise<unknown>;
  /** Writes a file, and returns its path. */
  file(name: string, text: string): string;
}

/**
 * @param lists each a title with its column definitions
 * @param users of the site
 * @param change of the service, for some answers to go wrong
 */
export async function graphServer(
  lists: Readonly<Record<string, readonly object[]>>,
  users: readonly object[] = [],
  change: (service: Service) => FaultyService = (service) => service,
): Promise<GraphServer> {
  const directory = await temporaryDirectory();
  const store = openStore(join(directory.path, 'store'));
  const schema = { lists: Object.entries(lists).map(([title, columns]) => ({ title, columns })), users };
  const service = graphService(store, Date.now, { schema: parseSchema(JSON.parse(JSON.stringify(schema))) });
  const token = 'the-token-of-these-tests';
  const requests: { request: string; body: string }[] = [];
  const changed = change(service);
  const recording: FaultyService = (request) => {
    requests.push({ request: `${request.method} ${request.path}`, body: Buffer.from(request.body).toString() });
    return changed(request);
  };
  const server = await startServer(recording, {
    ...{ host: '127.0.0.1', port: 0, token, onError: () => {}, respondError: graphErrorResponder(Date.now) },
  });
  const env = {
    LISTCTL_BASE_URL: server.url,
    LISTCTL_TOKEN: token,
    LISTCTL_SERVICE: 'graph',
    LISTCTL_SITE: 'contoso.sharepoint.com:/sites/team',
    LISTCTL_LIST: 'Books',
    LISTCTL_STATE_DIR: directory.path,
  };
  const listctl = (words: string | readonly string[], world: World = {}) =>
    run(typeof words === 'string' ? words.split(' ') : words, {
      cwd: directory.path,
      ...world,
      env: { ...env, ...world.env },
    });
  return {
    path: directory.path,
    ...{ requests, service, env },
    listctl,
    json: async (words) => {
      const { exitCode, stdout, stderr } = await listctl(words);
      if (exitCode !== 0) throw new Error(`${words}: ${exitCode}: ${stderr}`);
      return JSON.parse(stdout);
    },
    file: (name, text) => {
      const path = join(directory.path, name);
      writeFileSync(path, text);
      return path;
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}
