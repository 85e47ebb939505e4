import type { WebhookSettings } from '../../schema/agent/gx-json.ts';
import { parseAddress, getAddressKind } from '../../http/outgoing/addresses.ts';

export type UrlPolicy = {
  requireHttps: boolean;
  /** Undefined means all; `*.example.com` stands for every name below that one. */
  allowedDomains: string[] | undefined;
  allowedPorts: number[] | undefined;
  maxLength: number;
  loopback: boolean;
  privateAddresses: boolean;
};

/** Lengths that a URL may have: with rules of its own in gx.json, and without any (as LangGraph's server has them). */
const LENGTHS = { withRules: 2048, withoutRules: 4096 };

/** Returns the policy of gx.json. `loopback` decides where gx.json says nothing. */
export function buildUrlPolicy(
  { url }: WebhookSettings,
  { loopback }: { loopback: boolean },
): UrlPolicy {
  return {
    requireHttps: url?.require_https ?? url !== undefined,
    allowedDomains: url?.allowed_domains?.map((domain) => domain.toLowerCase()),
    allowedPorts: url?.allowed_ports,
    maxLength:
      url?.max_url_length ?? (url === undefined ? LENGTHS.withoutRules : LENGTHS.withRules),
    loopback: url?.disable_loopback === undefined ? loopback : !url.disable_loopback,
    privateAddresses: url?.disable_private_ips !== true,
  };
}

const PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };

/** Names that mean this machine, and those under which clouds answer with credentials. */
const LOOPBACK_NAME = /^(.+\.)?localhost\.?$/;
const METADATA_NAME =
  /^(metadata\.google\.internal|metadata|instance-data(\.ec2\.internal)?|metadata\.goog)\.?$/;

/**
 * Returns why a webhook may not go to the URL, as the end of a sentence; undefined when it may, as far as its text
 * tells.
 */
export function checkWebhookUrl(text: string, policy: UrlPolicy): string | undefined {
  if (text.length > policy.maxLength) return `is longer than ${policy.maxLength} characters`;
  if (text.startsWith('/'))
    return 'must be an absolute URL: a webhook does not call routes of this server';
  if (!URL.canParse(text)) return 'is not a URL';
  return checkUrl(new URL(text), policy);
}

function checkUrl(url: URL, policy: UrlPolicy): string | undefined {
  const port = PORTS[url.protocol];
  if (port === undefined) return 'must begin with https:// or http://';
  if (policy.requireHttps && url.protocol !== 'https:')
    return 'must begin with https:// (webhooks.url.require_https)';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user or a password; webhooks.headers of gx.json can authorize it';
  const at = url.port === '' ? port : Number(url.port);
  if (policy.allowedPorts?.includes(at) === false)
    return `names port ${at}, which webhooks.url.allowed_ports does not list`;
  return (
    checkDomain(url.hostname.toLowerCase(), policy) ?? checkHost(url.hostname.toLowerCase(), policy)
  );
}

function checkDomain(host: string, { allowedDomains }: UrlPolicy): string | undefined {
  const name = host.replace(/\.$/, '');
  const isPermittedBy = (domain: string): boolean =>
    domain.startsWith('*.') ? name.endsWith(domain.slice(1)) : name === domain;
  return allowedDomains?.some(isPermittedBy) === false
    ? 'names a host that webhooks.url.allowed_domains does not list'
    : undefined;
}

function checkHost(host: string, policy: UrlPolicy): string | undefined {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (parseAddress(address) !== undefined) return checkWebhookAddress(address, policy);
  if (METADATA_NAME.test(host)) return PROBLEMS.never;
  return LOOPBACK_NAME.test(host) && !policy.loopback ? PROBLEMS.loopback : undefined;
}

const PROBLEMS = {
  never: 'leads to a link-local, metadata or reserved address',
  loopback: 'leads to the server itself (webhooks.url.disable_loopback)',
  private: 'leads to a private address (webhooks.url.disable_private_ips)',
};

/** Returns why a webhook may not go to the IP address; undefined when it may. */
export function checkWebhookAddress(
  address: string,
  { loopback, privateAddresses }: UrlPolicy,
): string | undefined {
  const kind = getAddressKind(address);
  if (
    kind === 'public' ||
    (kind === 'loopback' && loopback) ||
    (kind === 'private' && privateAddresses)
  )
    return undefined;
  return PROBLEMS[kind];
}

/** Returns true for a URL that only a policy with loopback permits. */
export const isLoopbackUrl = (text: string, policy: UrlPolicy): boolean =>
  policy.loopback &&
  checkWebhookUrl(text, policy) === undefined &&
  checkWebhookUrl(text, { ...policy, loopback: false }) !== undefined;
