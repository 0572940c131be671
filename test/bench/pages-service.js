/**
 * A list of Microsoft Graph that only pages, so that a bench measures its client: items of 24 fields, as SharePoint has
 * them. Prints its address, and ends when its stdin does.
 *
 * node pages-service.js <items>
 */
import { createServer } from 'node:http';
import process from 'node:process';

const items = Number(process.argv[2] ?? 0);
const system = {
  ...{ ContentType: 'Item', Modified: '2026-11-22T13:33:01Z', Created: '2026-11-22T13:33:01Z', AuthorLookupId: '6' },
  ...{ EditorLookupId: '6', _UIVersionString: '1.0', Attachments: false, Edit: '', ItemChildCount: '0' },
  ...{ FolderChildCount: '0', _ComplianceFlags: '', _ComplianceTag: '', _ComplianceTagWrittenTime: '' },
  ...{ _ComplianceTagUserId: '', AppAuthorLookupId: '6', AppEditorLookupId: '6' },
};

function item(id) {
  const tag = `"2e1c23d4-225d-1597-e910-eb0be8fd3db2,${id}"`;
  const by = { application: { id: '1fe28920-5936-c3fd-b611-58223892c7a8', displayName: 'bench' } };
  const Title = `Book ${id}`;
  const own = { Title, Status: 'New', Count: id, LinkTitle: Title, LinkTitleNoMenu: Title, id: String(id) };
  return {
    ...{ '@odata.etag': tag, createdDateTime: system.Created, eTag: tag, id: String(id) },
    ...{ lastModifiedDateTime: system.Modified, webUrl: `https://contoso.sharepoint.com/Lists/Books/${id}_.000` },
    ...{ createdBy: by, lastModifiedBy: by, contentType: { id: '0x0100', name: 'Item' } },
    fields: { '@odata.etag': tag, ...own, ...system },
  };
}

const pages = new Map();

const server = createServer(({ url, headers }, response) => {
  const query = new URL(url, 'http://localhost').searchParams;
  const [top, skip] = [Number(query.get('$top')), Number(query.get('skip') ?? 0)];
  const key = `${top} ${skip}`;
  if (!pages.has(key)) {
    const value = Array.from({ length: Math.min(top, items - skip) }, (_, at) => item(skip + at + 1));
    const next = `http://${headers.host}/v1.0/next?$top=${top}&skip=${skip + top}`;
    const link = skip + top < items ? { '@odata.nextLink': next } : {};
    pages.set(key, Buffer.from(JSON.stringify({ ...link, value })));
  }
  const body = pages.get(key);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/v1.0\n`);
});
process.stdin.resume().on('end', () => process.exit());
