import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KubeObject } from '../../../../kube/kube.ts';
import { isPodReady, isPodUp, isWaitingForVolumes, getPodStatus } from '../../../pods/diagnose.ts';
import { LIFE, type Pair } from './certificate.ts';

/** The data of the Secret of a database's authority. Only the operator reads it. */
export type AuthorityData = { 'ca.crt': string; 'ca.key': string };
/** The data of the Secret of a database's certificate. Pods mount parts of it. */
export type TlsData = { 'ca.crt': string; 'tls.crt': string; 'tls.key': string };
export type StoredTls = { authority: Partial<AuthorityData>; server: Partial<TlsData> };

/**
 * The work that is due: nothing until a time; another certificate of the same authority; or, if the authority is of no
 * use, both.
 */
export type Due =
  | { due: 'nothing'; authority: Pair; until: Date }
  | { due: 'certificate'; authority: Pair }
  | { due: 'all' };

/** Returns which parts must be made, by the data of the Secrets, which anyone may have written. */
export function decideDueParts(
  { authority: own, server: data }: StoredTls,
  { names, now }: { names: string[]; now: Date },
): Due {
  const authority = parseUsableAuthority(own, now);
  if (authority === undefined) return { due: 'all' };
  const server = parseSoundPair(data['tls.crt'], data['tls.key']);
  const isSound =
    data['ca.crt'] === authority.pair.certificate &&
    server?.checkIssued(authority.read) === true &&
    server.verify(authority.read.publicKey) &&
    isValidAt(server, now) &&
    names.every((name) => server.checkHost(name) !== undefined);
  if (isSound && getRenewalTime(server.validToDate) > now)
    return { due: 'nothing', authority: authority.pair, until: server.validToDate };
  return { due: 'certificate', authority: authority.pair };
}

/** Reads an authority that can sign. One that expires before its next certificate would is of no use. */
function parseUsableAuthority(
  data: Partial<AuthorityData>,
  now: Date,
): { pair: Pair; read: X509Certificate } | undefined {
  const { 'ca.crt': certificate = '', 'ca.key': key = '' } = data;
  const read = parseSoundPair(certificate, key);
  if (
    read?.ca !== true ||
    !isValidAt(read, now) ||
    read.validToDate.getTime() < now.getTime() + LIFE
  )
    return undefined;
  return { pair: { certificate, key }, read };
}

/** Returns when a certificate that is valid until `until` is to be renewed, which is after two thirds of its life. */
export const getRenewalTime = (until: Date): Date => new Date(until.getTime() - LIFE / 3);

/** The longest time of a timer in seconds. Node's take 24.8 days at most. */
const LONGEST = 20 * 86_400;
/** Seconds within which most pods have their volumes and are ready. */
const PATIENCE = 30;

/**
 * Returns the seconds until the Secret is to be read, whose certificate is valid until `until`. A pod has made no
 * progress for `stuck` seconds.
 */
export const countSecondsUntilCheck = (
  until: Date,
  { stuck = 0, now }: { stuck?: number | undefined; now: Date },
): number =>
  Math.min(
    LONGEST,
    (getRenewalTime(until).getTime() - now.getTime()) / 1000,
    stuck > 0 ? PATIENCE - stuck : LONGEST,
  );

/**
 * Reads a certificate with its key. Returns undefined if one is missing, unreadable, or does not belong to the other.
 */
function parseSoundPair(
  certificate: string | undefined,
  key: string | undefined,
): X509Certificate | undefined {
  if (certificate === undefined || key === undefined) return undefined;
  try {
    const read = new X509Certificate(certificate);
    return read.checkPrivateKey(createPrivateKey(key)) ? read : undefined;
  } catch {
    return undefined;
  }
}

const isValidAt = ({ validFromDate, validToDate }: X509Certificate, now: Date): boolean =>
  validFromDate <= now && now < validToDate;

/** Returns the age in seconds of the oldest pod that makes no progress, perhaps because of its certificate. */
export function measureStuckSeconds(pods: KubeObject[], now: Date): number | undefined {
  const ages = pods
    .filter(isStuck)
    .map(({ metadata }) => (now.getTime() - Date.parse(metadata.creationTimestamp ?? '')) / 1000);
  return ages.length === 0 ? undefined : Math.max(...ages);
}

/** Returns true if the pod has no volume yet, runs and does not answer, or has ended before. */
function isStuck(pod: KubeObject): boolean {
  if (pod.metadata.deletionTimestamp !== undefined || isPodReady(pod)) return false;
  const hasEnded =
    getPodStatus(pod).containerStatuses?.some(({ restartCount = 0 }) => restartCount > 0) === true;
  return isWaitingForVolumes(pod) || isPodUp(pod) || hasEnded;
}
