import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { curlLine, shellWord } from '../../output/curl-line.ts';
import { jsonLine } from '../../output/failure-text.ts';
import { isLoopbackHost } from '../../service/loopback-host.ts';
import type { Context } from '../context.ts';
import { writeNotice } from '../report.ts';

/** A service that others may use now. */
export interface Serving {
  readonly url: string;
  /** What it listens on. */
  readonly host: string;
  readonly token: string;
  /** It was made here: nobody knows it yet. */
  readonly isTokenNew: boolean;
  readonly tokenFile: string | undefined;
}

/**
 * Prints the address and the lines that use it; where JSON was asked for, `{"url":…}` on a line. A new token is on
 * stderr (`{"token":…}`), and nowhere else: what is kept of stdout may be seen by others.
 */
export async function announce(serving: Serving, context: Context): Promise<void> {
  const { url, token, isTokenNew } = serving;
  const { errors } = context;
  const { stdout, stderr } = context.host;
  if (!isLoopbackHost(serving.host)) await writeNotice(networkWarning(serving), context);
  const first = errors.asJson ? JSON.stringify({ url }) : `${url}\n\nexport LISTCTL_BASE_URL=${shellWord(url)}`;
  await stdout.write(`${first}\n`);
  if (isTokenNew) await stderr.write(errors.asJson ? jsonLine('token', token) : `export LISTCTL_TOKEN=${token}\n`);
  if (!errors.asJson) await stdout.write(linesToPaste(serving));
}

function linesToPaste({ url, tokenFile }: Serving): string {
  const isFile = tokenFile !== undefined && tokenFile !== '-';
  const isRemote = !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const lines = [
    ...(isFile ? [`export LISTCTL_TOKEN="$(cat ${shellWord(resolve(tokenFile))})"`] : []),
    `listctl items create -s home -l tasks -f Title="Buy milk"${isRemote ? ' --allow-http' : ''}`,
    curlLine({ method: 'POST', url: `${url}/sites/home/lists/tasks/items`, body: { fields: { Title: 'Buy milk' } } }),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function networkWarning({ url, host }: Serving): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const elsewhere = isEverywhere ? `; other machines use http://${hostname()}:${new URL(url).port}/v1.0` : '';
  return `listctl: http shows the token and the items to the network${elsewhere}`;
}
