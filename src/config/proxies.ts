import type { Proxies } from '../http/outgoing/proxies.ts';
import type { SettingsReader } from './env.ts';

/** Reads the proxies of the network, by the names that other programs read, too. */
export const readProxies = (read: SettingsReader): Proxies => ({
  https: checkProxy(read, 'HTTPS_PROXY', read.readOptional(['HTTPS_PROXY', 'GX_HTTPS_PROXY'])),
  http: checkProxy(read, 'HTTP_PROXY', read.readOptional(['HTTP_PROXY', 'GX_HTTP_PROXY'])),
  direct: read.readWords(['NO_PROXY', 'GX_NO_PROXY']),
});

function checkProxy(
  read: SettingsReader,
  name: string,
  text: string | undefined,
): string | undefined {
  // Others take a name without a scheme for one of plain HTTP.
  const url = text === undefined || text.includes('://') ? text : `http://${text}`;
  if (url !== undefined && !(/^https?:/i.test(url) && URL.canParse(url)))
    read.addProblem(
      `${name} must be the address of a proxy, such as http://proxy.example.com:3128`,
    );
  return url;
}
