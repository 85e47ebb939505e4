import type { KubeObject } from '../../kube/kube.ts';

type Endpoint = { addresses?: string[]; conditions?: { ready?: boolean } };
type Slice = { addressType?: string; endpoints?: Endpoint[] | null; ports?: { name?: string; port?: number }[] | null };

/** The port of the gateway at which the platform reads reports. */
const REPORTS = 'health';

/** Returns where the replicas of the gateway that are ready serve the reports that they have. */
export function gatewayUrls(slices: readonly KubeObject[]): string[] {
  const urls = slices.flatMap((object) => {
    const { addressType, endpoints, ports } = object as Slice;
    const port = ports?.find(({ name }) => name === REPORTS)?.port;
    if (port === undefined) return [];
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses = [] }) =>
      addresses.map((address) => `http://${addressType === 'IPv6' ? `[${address}]` : address}:${port}`),
    );
  });
  return [...new Set(urls)].toSorted();
}
