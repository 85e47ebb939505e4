import type { Proxies } from '../../http/outgoing/proxies.ts';

/**
 * Returns the variables by which the server of an agent knows the proxies. They have names of our own, because a pod's
 * variables would win over those that its user has set.
 */
export const buildAgentProxyVariables = ({
  https,
  http,
  direct,
}: Proxies): Record<string, string | undefined> =>
  https === undefined && http === undefined
    ? {}
    : {
        GX_HTTPS_PROXY: https,
        GX_HTTP_PROXY: http,
        GX_NO_PROXY: direct.length === 0 ? undefined : direct.join(','),
      };

/** The pod itself, which is asked through no proxy. */
const OWN = ['localhost', '127.0.0.1', '::1'];

/** Returns the variables by which programs of all kinds know the proxies. Some read a name only in small letters. */
export function buildProxyVariables({
  https,
  http,
  direct,
}: Proxies): Record<string, string | undefined> {
  if (https === undefined && http === undefined) return {};
  const others = [...new Set([...OWN, ...direct])].join(',');
  return {
    HTTPS_PROXY: https,
    https_proxy: https,
    HTTP_PROXY: http,
    http_proxy: http,
    NO_PROXY: others,
    no_proxy: others,
    // Node.js asks through a proxy only with this.
    NODE_USE_ENV_PROXY: '1',
  };
}
