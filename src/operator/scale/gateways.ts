import type { KubeObject } from '../../kube/kube.ts';

type Slice = {
  addressType?: string;
  endpoints?: { addresses?: string[]; conditions?: { ready?: boolean } }[] | null;
  ports?: { name?: string; port?: number }[] | null;
};

/** Returns the addresses of the gateway's replicas that are ready, by their family. */
export function listGatewayEndpoints(
  slices: readonly KubeObject[],
): { addressType: string; addresses: string[] }[] {
  const families = new Map<string, Set<string>>();
  for (const object of slices) {
    const { addressType = 'IPv4', endpoints } = object as Slice;
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    const known = families.get(addressType) ?? new Set<string>();
    for (const { addresses = [] } of ready) for (const address of addresses) known.add(address);
    families.set(addressType, known);
  }
  const found = [...families].map(([addressType, addresses]) => ({
    addressType,
    addresses: [...addresses].toSorted(),
  }));
  return found
    .filter(({ addresses }) => addresses.length > 0)
    .toSorted((a, b) => (a.addressType < b.addressType ? -1 : 1));
}

/** The port of the gateway at which the platform reads reports. */
const REPORTS = 'reports';

/** Returns where the replicas of the gateway that are ready serve the reports that they have. */
export function listGatewayUrls(slices: readonly KubeObject[]): string[] {
  const urls = slices.flatMap((object) => {
    const { addressType, endpoints, ports } = object as Slice;
    const port = ports?.find(({ name }) => name === REPORTS)?.port;
    if (port === undefined) return [];
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses = [] }) =>
      addresses.map(
        (address) => `http://${addressType === 'IPv6' ? `[${address}]` : address}:${port}`,
      ),
    );
  });
  return [...new Set(urls)].toSorted();
}
