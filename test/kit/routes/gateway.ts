import { randomBytes } from 'node:crypto';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import {
  createAuthority,
  createCertificate,
  type Pair,
} from '../../../src/operator/database/own/tls/certificate.ts';

/* The objects that administrators write for routes: a Gateway with its class, and certificates. */

/** The namespace of the Gateway. */
export const GATEWAYS = 'gateways';
export const PARENT = { name: 'public', namespace: GATEWAYS };
export const DOMAIN = 'agents.example.com';

/** The Secret with the certificate of all hosts, in the namespace of the Gateway and in those of agents. */
export const WILDCARD = 'wildcard';

const API = 'gateway.networking.k8s.io/v1';

export type GatewayPorts = Record<'http' | 'https', number>;

/** Makes the Gateway `public` of a class with this controller. It admits the routes of all namespaces. */
export async function applyGateway(
  kube: Kube,
  { controllerName, ports }: { controllerName: string; ports: GatewayPorts },
): Promise<void> {
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: GATEWAYS },
  });
  const kind = (name: string): KubeObject => ({
    apiVersion: API,
    kind: name,
    metadata: { name: 'public' },
  });
  await kube.apply(kinds.gatewayClass, { ...kind('GatewayClass'), spec: { controllerName } });
  const allowedRoutes = { namespaces: { from: 'All' } };
  const listeners = [
    { name: 'http', protocol: 'HTTP', port: ports.http, allowedRoutes },
    {
      name: 'https',
      protocol: 'HTTPS',
      port: ports.https,
      hostname: `*.${DOMAIN}`,
      allowedRoutes,
      tls: { mode: 'Terminate', certificateRefs: [{ name: WILDCARD }] },
    },
  ];
  await kube.apply(kinds.gateway, {
    ...kind('Gateway'),
    metadata: PARENT,
    spec: { gatewayClassName: 'public', listeners },
  });
}

const making = () => ({ now: new Date(), random: randomBytes });
export const newIssuer = (): Pair => createAuthority('authority of the routes', making());

/** Writes a new certificate of all hosts into the Secret of that namespace. */
export async function renewWildcard(kube: Kube, namespace: string, issuer: Pair): Promise<void> {
  const { certificate, key } = createCertificate(issuer, [`*.${DOMAIN}`], making());
  await kube.apply(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: WILDCARD, namespace },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  });
}
