import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { buildTrusts, type Trusts } from '../../http/callers/client.ts';
import {
  readClientSigner,
  isClientSignedBy,
  OF_CONTROL_PLANE,
} from '../../http/callers/signed-client.ts';

/**
 * Returns the trust in the proxies that the settings list, and in the console, which signs its word about a client.
 * Throws `StartError` if the secret that it shares with the console can't be used.
 */
export function buildTrustedProxies({ trustedProxies, clientKeyFile }: ControlPlaneConfig): Trusts {
  const isListed = buildTrusts(trustedProxies);
  const signer = readClientSigner(clientKeyFile);
  if (signer === undefined) return isListed;
  return (address, asked) =>
    isListed(address) ||
    (asked !== undefined &&
      isClientSignedBy([signer.key], asked, { of: OF_CONTROL_PLANE, at: Date.now() / 1000 }));
}
