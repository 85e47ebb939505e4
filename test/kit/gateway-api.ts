import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { folderOfModule } from './go-module.ts';

/* The definition of HTTPRoute, which clusters get from the Gateway API's release. */

const MODULE = 'sigs.k8s.io/gateway-api@v1.6.3';
const FILE = 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml';

/** Returns the definition as the module of the Gateway API has it, or a small one where the module can't be fetched. */
export async function httpRouteDefinition(): Promise<KubeObject> {
  try {
    return parse(await readFile(join(await folderOfModule(MODULE), FILE), 'utf8')) as KubeObject;
  } catch {
    return SMALL;
  }
}

const SMALL: KubeObject = {
  apiVersion: kinds.customResourceDefinition.apiVersion,
  kind: kinds.customResourceDefinition.kind,
  metadata: {
    name: 'httproutes.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api' },
  },
  spec: {
    group: 'gateway.networking.k8s.io',
    scope: 'Namespaced',
    names: {
      kind: 'HTTPRoute',
      plural: 'httproutes',
      singular: 'httproute',
      listKind: 'HTTPRouteList',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};
