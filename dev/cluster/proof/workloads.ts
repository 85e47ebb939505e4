export const namespace = 'proof';
export const nodePort = 30180;

const labelsOf = (app: string) => ({ app });

const restricted = {
  pod: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
  container: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
};

const shell = (image: string, script: string, more: object = {}) => ({
  name: 'main',
  image,
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
  securityContext: restricted.container,
  ...more,
});

const podOf = (app: string, spec: object) => ({
  metadata: { labels: labelsOf(app) },
  spec: { terminationGracePeriodSeconds: 1, securityContext: restricted.pod, ...spec },
});

/** Refuses every pod that is not restricted. */
export const restrictedNamespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

/** Two replicas that answer with their own name, behind a service with a node port. */
export const web = (image: string) => {
  const script = 'hostname > /tmp/index.html; echo serving; exec httpd -f -p 8080 -h /tmp';
  const container = shell(image, script, {
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
    resources: { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '32Mi' } },
  });
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: labelsOf('web') },
        template: podOf('web', { containers: [container], volumes: [{ name: 'tmp', emptyDir: {} }] }),
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace },
      spec: {
        type: 'NodePort',
        selector: labelsOf('web'),
        ports: [{ port: 80, targetPort: 8080, nodePort }],
      },
    },
  ];
};

/** Appends a line to its claimed volume at each start. */
export const store = (image: string) => [
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'store', namespace },
    spec: {
      serviceName: 'store',
      selector: { matchLabels: labelsOf('store') },
      template: podOf('store', {
        containers: [
          shell(image, 'echo started >> /data/starts && exec sleep 1000000', {
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          }),
        ],
      }),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
        },
      ],
    },
  },
];
