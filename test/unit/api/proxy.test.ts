import { expect, test } from 'vitest';
import { findProxy, isExempt } from '../../../src/api/proxy.ts';

const service = new URL('https://lists.example/v1.0');
const proxy = 'http://proxy.example:8080';

test.each([
  { env: { HTTPS_PROXY: proxy }, proxied: true },
  { env: { https_proxy: proxy }, proxied: true },
  { env: { HTTPS_PROXY: 'proxy.example:8080' }, proxied: true },
  { env: { HTTP_PROXY: proxy }, proxied: false },
  { env: { HTTPS_PROXY: '' }, proxied: false },
  { env: { HTTPS_PROXY: proxy, NO_PROXY: 'lists.example' }, proxied: false },
  { env: { HTTPS_PROXY: proxy, no_proxy: 'other.example', NO_PROXY: 'lists.example' }, proxied: true },
  { env: { ALL_PROXY: proxy }, proxied: true },
  { env: { all_proxy: proxy, HTTP_PROXY: 'http://other.example' }, proxied: true },
  { env: { HTTPS_PROXY: proxy, ALL_PROXY: 'socks5://other.example' }, proxied: true },
  { env: { ALL_PROXY: 'socks5://other.example', NO_PROXY: '*' }, proxied: false },
  { env: {}, proxied: false },
])('an https address with $env uses a proxy: $proxied', ({ env, proxied }) => {
  expect(findProxy(service, env)?.host).toBe(proxied ? 'proxy.example:8080' : undefined);
});

test.each([
  'http://127.0.0.1:7070/v1.0',
  'http://127.9.9.9/',
  'http://[::1]:7070/',
  'http://localhost/',
  'http://a.localhost/',
])('%s is this machine and never uses a proxy', (address) => {
  expect(findProxy(new URL(address), { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '' })).toBeUndefined();
});

test('HTTP_PROXY is ignored in a CGI program, where it is a request header', () => {
  const open = new URL('http://lists.example/');

  expect(findProxy(open, { HTTP_PROXY: proxy })?.host).toBe('proxy.example:8080');
  expect(findProxy(open, { HTTP_PROXY: proxy, REQUEST_METHOD: 'GET' })).toBeUndefined();
  expect(findProxy(open, { http_proxy: proxy, REQUEST_METHOD: 'GET' })?.host).toBe('proxy.example:8080');
});

test('a SOCKS proxy is refused in any variable', () => {
  const find = () => findProxy(service, { ALL_PROXY: 'socks5h://ann:secret@proxy.example' });

  expect(find).toThrow('ALL_PROXY: SOCKS proxies are not supported');
  expect(find).not.toThrow('secret');
});

test.each(['http://ann:secret@', 'ftp://ann:secret@proxy.example', 'http://ann:secret@proxy.example:999999'])(
  'an invalid proxy is refused without its password: %s',
  (text) => {
    const find = () => findProxy(service, { HTTPS_PROXY: text });

    expect(find).toThrow('invalid HTTPS_PROXY: expected a proxy URL');
    expect(find).not.toThrow('secret');
  },
);

test.each([
  { list: '*', address: 'https://lists.example', exempt: true },
  { list: 'lists.example', address: 'https://lists.example', exempt: true },
  { list: 'LISTS.example.', address: 'https://lists.example', exempt: true },
  { list: 'example', address: 'https://lists.example', exempt: true },
  { list: '.example', address: 'https://lists.example', exempt: true },
  { list: '*.example', address: 'https://lists.example', exempt: true },
  { list: 'ists.example', address: 'https://lists.example', exempt: false },
  { list: 'a.lists.example', address: 'https://lists.example', exempt: false },
  { list: 'lists.example:443', address: 'https://lists.example', exempt: true },
  { list: 'lists.example:8443', address: 'https://lists.example', exempt: false },
  { list: 'lists.example:8443', address: 'https://lists.example:8443', exempt: true },
  { list: 'a, b lists.example', address: 'https://lists.example', exempt: true },
  { list: '10.0.0.1', address: 'https://10.0.0.1', exempt: true },
  { list: '2001:db8::1', address: 'https://[2001:db8::1]:8443', exempt: true },
  { list: '[2001:db8::1]', address: 'https://[2001:db8::1]', exempt: true },
  { list: '[2001:db8::1]:8443', address: 'https://[2001:db8::1]:8443', exempt: true },
  { list: '[2001:db8::1]:8443', address: 'https://[2001:db8::1]', exempt: false },
  { list: '2001:DB8:0::1', address: 'https://[2001:db8::1]', exempt: true },
  { list: '::1', address: 'https://lists.example:1', exempt: false },
  { list: ', ,', address: 'https://lists.example', exempt: false },
])('NO_PROXY=$list exempts $address: $exempt', ({ list, address, exempt }) => {
  expect(isExempt(new URL(address), list)).toBe(exempt);
});
