import { decodeJwt, decodeProtectedHeader, errors } from 'jose';

/**
 * Throws jose's own error for a text that no key can make a good token of, so that nobody reads keys for it. Its
 * claims are believed only once its signature is verified.
 */
export function checkForm(token: string, { issuer, algorithms }: { issuer: string; algorithms: readonly string[] }): void {
  const { alg } = headerOf(token);
  if (alg === undefined) throw new errors.JWTInvalid('no algorithm');
  if (!algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed('another algorithm');
  const claims = decodeJwt(token);
  if (claims.iss !== issuer) throw new errors.JWTClaimValidationFailed('another issuer', claims, 'iss', 'check_failed');
}

function headerOf(token: string): { alg?: string | undefined } {
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    throw new errors.JWTInvalid('no header', { cause: error });
  }
}
