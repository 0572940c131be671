/** Addresses of SharePoint lists, as browsers show them. */
import { expect, test } from 'vitest';
import { graphAddress, isGraphHost, parseListAddress } from '../../../../src/services/graph/resolve-list.ts';

test.each([
  [
    'https://contoso.sharepoint.com/sites/x/Lists/Books/AllItems.aspx?viewid=1#2',
    'contoso.sharepoint.com:/sites/x',
    '/sites/x/Lists/Books',
  ],
  [
    'https://contoso.sharepoint.com/teams/a/sub/lists/My%20Books',
    'contoso.sharepoint.com:/teams/a/sub',
    '/teams/a/sub/lists/My Books',
  ],
  ['https://contoso.sharepoint.com/Lists/Books/', 'contoso.sharepoint.com', '/Lists/Books'],
  [
    'https://contoso-my.sharepoint.com/personal/ann/Lists/B%C3%BCcher/EditForm.aspx',
    'contoso-my.sharepoint.com:/personal/ann',
    '/personal/ann/Lists/Bücher',
  ],
  ['https://contoso.sharepoint.com/sites/lists/Lists/B', 'contoso.sharepoint.com:/sites/lists', '/sites/lists/Lists/B'],
])('%s', (address, site, path) => {
  expect(parseListAddress(address)).toEqual({ host: new URL(address).host, site, path });
});

test.each([
  'Books',
  'https://contoso.sharepoint.com/sites/x',
  'http://contoso.sharepoint.com/Lists/Books',
  'https://contoso.sharepoint.com/Lists',
])('%s is not the address of a list', (address) => {
  expect(() => parseListAddress(address)).toThrow('is not the address of a list');
});

test.each([
  ['contoso.sharepoint.com', 'https://graph.microsoft.com/v1.0'],
  ['contoso.sharepoint.us', 'https://graph.microsoft.us/v1.0'],
  ['contoso.sharepoint-mil.us', 'https://dod-graph.microsoft.us/v1.0'],
  ['contoso.sharepoint.cn', 'https://microsoftgraph.chinacloudapi.cn/v1.0'],
  ['contoso.sharepoint.com.evil.example', undefined],
  ['sharepoint.com', undefined],
])('%s belongs to %s', (host, url) => {
  expect(graphAddress(host)).toBe(url);
  if (url !== undefined) expect(isGraphHost(new URL(url).host)).toBe(true);
});
