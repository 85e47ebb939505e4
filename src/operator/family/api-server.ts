import type { KubeObject } from '../../kube/kube.ts';

type EndpointSlice = { endpoints?: { addresses?: string[] }[] | null };

/** Returns the addresses at which the API server is reached without its Service. */
export const addressesIn = (slices: KubeObject[]): string[] =>
  slices.flatMap((slice) => ((slice as EndpointSlice).endpoints ?? []).flatMap(({ addresses = [] }) => addresses));
