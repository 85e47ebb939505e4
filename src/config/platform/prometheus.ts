import type { SettingsReader } from '../env.ts';

/** Returns the base address of the Prometheus server of the installation. Undefined: it has none. */
export function readPrometheusUrl(read: SettingsReader): string | undefined {
  const url = read.readOptional(['GX_PROMETHEUS_URL']);
  if (url === undefined) return undefined;
  const { protocol, username, password, search, hash } = URL.parse(url) ?? {};
  const isPlain = [username, password, search, hash].every((part) => part === '');
  if ((protocol !== 'http:' && protocol !== 'https:') || !isPlain)
    read.addProblem(
      'GX_PROMETHEUS_URL must be an http or https address without user, query and fragment',
    );
  return url.replace(/\/+$/, '');
}
