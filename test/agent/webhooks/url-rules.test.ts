import { describe, expect, test } from 'vitest';
import {
  checkWebhookAddress,
  buildUrlPolicy,
  checkWebhookUrl,
} from '../../../src/agent/webhooks/url-rules.ts';

const usual = buildUrlPolicy({}, { loopback: false });
const strict = buildUrlPolicy(
  {
    url: {
      allowed_domains: ['hooks.example.com', '*.example.org'],
      allowed_ports: [443, 8443],
      disable_private_ips: true,
    },
  },
  { loopback: false },
);

describe('by itself, a server', () => {
  test.each([
    'http://example.com',
    'https://example.com:8443/a?b=c#d',
    'http://10.1.2.3/',
    'http://receiver.shop.svc/',
    'https://[2606:4700::1]/',
  ])('calls %s', (url) => {
    expect(checkWebhookUrl(url, usual)).toBeUndefined();
  });

  test.each([
    ['127.1', 'http://127.1/'],
    ['the octal form', 'http://0177.0.0.1/'],
    ['the hexadecimal form', 'http://0x7f000001/'],
    ['the decimal form', 'http://2130706433/'],
    ['full-width digits', 'http://１２７.0.0.1/'],
    ['nothing', 'http://0/'],
    ['::1', 'http://[::1]/'],
    ['::', 'http://[::]/'],
    ['an IPv4 address in IPv6', 'http://[::ffff:7f00:1]/'],
    ['one behind NAT64', 'http://[64:ff9b::127.0.0.1]/'],
    ['one behind 6to4', 'http://[2002:7f00:1::]/'],
    ['a name below localhost', 'http://a.localhost./'],
    ['link-local', 'http://169.254.1.1/'],
    ['link-local in IPv6', 'http://[fe80::1]/'],
    ['metadata of AWS in IPv6', 'http://[fd00:ec2::254]/'],
    ['metadata behind a mapping', 'http://[::ffff:169.254.169.254]/'],
    ['metadata in decimal', 'http://2852039166/'],
    ['metadata of Alibaba', 'http://100.100.100.200/'],
    ['metadata of Azure', 'http://168.63.129.16/'],
    ['metadata by name', 'http://METADATA.google.internal/'],
    ['many', 'http://224.0.0.1/'],
    ['all', 'http://255.255.255.255/'],
  ])('does not call %s', (_, url) => {
    expect(checkWebhookUrl(url, usual)).toMatch(/^leads to/);
  });
});

test.each([
  ['http://hooks.example.com/', 'require_https'],
  ['https://example.com/', 'allowed_domains'],
  ['https://example.org/', 'allowed_domains'],
  ['https://badexample.org/', 'allowed_domains'],
  ['https://hooks.example.com:444/', 'allowed_ports'],
  [`https://hooks.example.com/${'x'.repeat(2048)}`, '2048'],
])('rules of gx.json forbid %s', (url, named) => {
  expect(checkWebhookUrl(url, strict)).toContain(named);
});

test.each([
  'https://hooks.example.com/',
  'https://HOOKS.example.com.:8443/',
  'https://a.b.example.org/',
])('they permit %s', (url) => {
  expect(checkWebhookUrl(url, strict)).toBeUndefined();
});

test.each([
  '10.0.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  'fd12::1',
  '::ffff:10.0.0.1',
])('a name that resolves to %s is private', (address) => {
  expect(checkWebhookAddress(address, strict)).toContain('disable_private_ips');
  expect(checkWebhookAddress(address, usual)).toBeUndefined();
});

test.each(['169.254.169.254', '::ffff:a9fe:a9fe', 'fe80::1%eth0', 'no address'])(
  'a name that resolves to %s is never called',
  (address) => {
    expect(
      checkWebhookAddress(
        address,
        buildUrlPolicy({ url: { disable_loopback: false } }, { loopback: true }),
      ),
    ).toContain('metadata');
  },
);

test('a machine under development may be called, unless gx.json says no', () => {
  const url = 'http://localhost:3000/hook';
  expect(checkWebhookUrl(url, buildUrlPolicy({}, { loopback: true }))).toBeUndefined();
  expect(
    checkWebhookUrl(
      url,
      buildUrlPolicy({ url: { require_https: false, disable_loopback: true } }, { loopback: true }),
    ),
  ).toContain('loopback');
});
