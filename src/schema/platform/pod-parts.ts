import { Type, type Static, type TSchema } from 'typebox';
import { Closed, MapOf, Nullable } from '../types.ts';

/*
 * The parts of a pod that users write as Kubernetes has them. They are described field by field: a part that is free in
 * form could be nested as deep and be as large as etcd takes it, and CEL rules are blind inside it.
 */

const maybe = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema));
const text = (maxLength = 1024) => maybe(Type.String({ maxLength }));
const flag = maybe(Type.Boolean());
const integer = maybe(Type.Integer());
const mode = maybe(Type.Integer({ minimum: 0, maximum: 0o777 }));
const words = (maxProperties: number) => maybe(MapOf(Type.String({ maxLength: 4096 }), { maxProperties }));
const texts = (maxItems: number) => maybe(Type.Array(Type.String({ maxLength: 256 }), { maxItems }));
const parts = <S extends TSchema>(items: S, maxItems: number) => maybe(Type.Array(items, { maxItems }));
const object = <P extends Record<string, TSchema>>(properties: P) => Closed(properties);

/** A quantity such as `1Gi`, or a number. */
const quantity = maybe(Type.Unsafe<string | number>({ type: ['integer', 'string'], 'x-kubernetes-int-or-string': true, maxLength: 64 }));

const items = parts(object({ key: Type.String({ maxLength: 253 }), path: Type.String({ maxLength: 1024 }), mode }), 128);
const FieldRef = object({ apiVersion: text(64), fieldPath: Type.String({ maxLength: 1024 }) });
const ResourceFieldRef = object({ containerName: text(253), resource: Type.String({ maxLength: 253 }), divisor: quantity });
const downwardItems = parts(
  object({ path: Type.String({ maxLength: 1024 }), fieldRef: maybe(FieldRef), resourceFieldRef: maybe(ResourceFieldRef), mode }),
  128,
);
const KeyRef = object({ name: text(253), key: Type.String({ maxLength: 253 }), optional: flag });
const named = { name: text(253), optional: flag };

/** Labels that objects have. */
export const LabelSelector = object({
  matchLabels: words(32),
  matchExpressions: parts(
    object({ key: Type.String({ maxLength: 317 }), operator: Type.String({ maxLength: 64 }), values: texts(32) }),
    32,
  ),
});

const ProjectedSource = object({
  configMap: maybe(object({ ...named, items })),
  secret: maybe(object({ ...named, items })),
  downwardAPI: maybe(object({ items: downwardItems })),
  serviceAccountToken: maybe(object({ audience: text(), expirationSeconds: integer, path: Type.String({ maxLength: 1024 }) })),
  clusterTrustBundle: maybe(
    object({ ...named, signerName: text(), labelSelector: maybe(LabelSelector), path: Type.String({ maxLength: 1024 }) }),
  ),
  podCertificate: maybe(
    object({
      signerName: text(),
      keyType: text(64),
      maxExpirationSeconds: integer,
      credentialBundlePath: text(),
      keyPath: text(),
      certificateChainPath: text(),
      userAnnotations: words(32),
    }),
  ),
});

/** The sources of a volume, by their names. */
export const VOLUME_SOURCES = {
  configMap: maybe(object({ ...named, items, defaultMode: mode })),
  secret: maybe(object({ secretName: text(253), optional: flag, items, defaultMode: mode })),
  emptyDir: maybe(object({ medium: text(64), sizeLimit: quantity })),
  persistentVolumeClaim: maybe(object({ claimName: Type.String({ maxLength: 253 }), readOnly: flag })),
  nfs: maybe(object({ server: Type.String({ maxLength: 253 }), path: Type.String({ maxLength: 4096 }), readOnly: flag })),
  projected: maybe(object({ sources: parts(ProjectedSource, 32), defaultMode: mode })),
  downwardAPI: maybe(object({ items: downwardItems, defaultMode: mode })),
  csi: maybe(
    object({
      driver: Type.String({ maxLength: 253 }),
      readOnly: flag,
      fsType: text(64),
      volumeAttributes: words(64),
      nodePublishSecretRef: maybe(object({ name: text(253) })),
    }),
  ),
};

/** Where the value of an environment variable comes from. */
export const EnvVarSource = object({
  fieldRef: maybe(FieldRef),
  resourceFieldRef: maybe(ResourceFieldRef),
  configMapKeyRef: maybe(KeyRef),
  secretKeyRef: maybe(KeyRef),
  fileKeyRef: maybe(
    object({
      volumeName: Type.String({ maxLength: 253 }),
      path: Type.String({ maxLength: 1024 }),
      key: Type.String({ maxLength: 253 }),
      optional: flag,
    }),
  ),
});

/** Whose keys become environment variables. */
export const EnvFromSource = object({ prefix: text(253), configMapRef: maybe(object(named)), secretRef: maybe(object(named)) });

const profile = maybe(object({ type: Type.String({ maxLength: 64 }), localhostProfile: text() }));

/** The security context of one container. */
export const SecurityContext = object({
  allowPrivilegeEscalation: flag,
  appArmorProfile: profile,
  capabilities: maybe(object({ add: texts(64), drop: texts(64) })),
  privileged: flag,
  procMount: text(64),
  readOnlyRootFilesystem: flag,
  runAsGroup: integer,
  runAsNonRoot: flag,
  runAsUser: integer,
  seLinuxOptions: maybe(object({ level: text(256), role: text(256), type: text(256), user: text(256) })),
  seccompProfile: profile,
  windowsOptions: maybe(
    object({ gmsaCredentialSpec: text(8192), gmsaCredentialSpecName: text(253), hostProcess: flag, runAsUserName: text(256) }),
  ),
});
export type SecurityContext = Static<typeof SecurityContext>;
