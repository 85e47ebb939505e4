import { beforeAll, describe, expect, test } from 'vitest';
import { controlPlaneConfig } from '../../src/config/control-plane.ts';
import { envOf, find, ofKind, podsOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

describe('TLS', () => {
  const tls = { secretName: 'api-tls' };
  const portsOf = (object: KubeYaml) => (object.spec as { ports: { name: string; port: number; targetPort: string }[] }).ports;

  test('with a Secret the control plane serves its certificate; probes, Service and network policy follow', async () => {
    const objects = await render.chart({ controlPlane: { tls }, networkPolicy: { enabled: true } });
    const { tls: files } = controlPlaneConfig(envOf(objects, 'control-plane'));
    expect(files).toEqual({ cert: '/etc/gx/tls/tls.crt', key: '/etc/gx/tls/tls.key' });
    const [pod] = podsOf([find(objects, 'Deployment/gx-system/gx-control-plane')]);
    expect(pod?.volumes).toContainEqual({ name: 'tls', secret: { secretName: 'api-tls' } });
    const container = pod?.containers[0];
    expect(container?.volumeMounts).toContainEqual({ name: 'tls', mountPath: '/etc/gx/tls', readOnly: true });
    expect(container?.ports).toEqual([{ name: 'https', containerPort: 8080 }]);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container?.[probe]).toMatchObject({ httpGet: { port: 'https', scheme: 'HTTPS' } });
    expect(portsOf(find(objects, 'Service/gx-system/gx-control-plane'))).toEqual([{ name: 'https', port: 443, targetPort: 'https' }]);
    expect(find(objects, 'NetworkPolicy/gx-system/gx-control-plane').spec?.ingress).toEqual([{ ports: [{ port: 'https' }] }]);
  });

  test('a port that was set stays, and without TLS the Service has port 80', async () => {
    const service = async (controlPlane: object) =>
      portsOf(find(await render.chart({ controlPlane }), 'Service/gx-system/gx-control-plane'));
    expect(await service({ tls, service: { port: 8443 } })).toEqual([{ name: 'https', port: 8443, targetPort: 'https' }]);
    expect(await service({ service: { type: 'NodePort', nodePort: 30_080 } })).toMatchObject([{ port: 80, nodePort: 30_080 }]);
    expect(await service({})).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });

  test('the Service carries annotations, by which clouds know their load balancers', async () => {
    const annotations = { 'cloud.example/internal': 'true' };
    const objects = await render.chart({ controlPlane: { service: { type: 'LoadBalancer', annotations } } });
    expect(find(objects, 'Service/gx-system/gx-control-plane')).toMatchObject({
      metadata: { annotations },
      spec: { type: 'LoadBalancer' },
    });
  });

  test('cert-manager is asked for the Secret, for the names of the Service and others', async () => {
    const certManager = { issuer: 'internal', issuerKind: 'ClusterIssuer', dnsNames: ['gx.example.com'] };
    const [certificate] = ofKind(await render.chart({ controlPlane: { tls: { ...tls, certManager } } }), 'Certificate');
    expect(certificate?.spec).toMatchObject({
      secretName: 'api-tls',
      issuerRef: { kind: 'ClusterIssuer', name: 'internal' },
      dnsNames: ['gx-control-plane.gx-system.svc', 'gx-control-plane.gx-system.svc.cluster.local', 'gx.example.com'],
    });
  });
});
