import { toError } from '../../errors.ts';

/** The codes of certificates that nobody whom this process trusts has signed. */
const UNTRUSTED = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
];

/**
 * Returns why a connection was not made, as the end of a sentence on a host. It has no words of the error, which may
 * name addresses inside the network.
 */
export function describeConnectionFault(thrown: unknown): string {
  const error = toError(thrown);
  // The error of a fetch has its cause inside.
  const [code = error.name] = [error, error.cause]
    .map(readCode)
    .filter((each) => each !== undefined);
  if (UNTRUSTED.includes(code))
    return `has a certificate of an authority that is not trusted here (${code}): name its ConfigMap in settings.caConfigMap`;
  if (code === 'CERT_HAS_EXPIRED') return `has a certificate that has expired (${code})`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `has a certificate for other names (${code})`;
  if (code === 'ERR_PROXY_TUNNEL')
    return `is blocked by the proxy (${code}): settings.proxy, or ask its administrators`;
  return `does not answer (${code})`;
}

const readCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
