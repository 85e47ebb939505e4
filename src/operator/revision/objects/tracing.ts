import type { OperatorSettings } from '../../../config/operator.ts';
import type { RevisionResource } from '../../../schema/platform/custom-resources.ts';

/** The key of the headers' Secret. */
const HEADERS = 'headers';

/**
 * Returns OpenTelemetry's environment of an agent: where its traces go, and the tracing project they belong to. It is
 * empty without a collector.
 */
export function tracingEnvironment({ metadata, spec }: RevisionResource, deploymentId: string, { otlp }: OperatorSettings): object[] {
  if (otlp === undefined) return [];
  const attributes = {
    // This project is created with the deployment, under its name.
    'gx.tracing_project': spec.deployment,
    'gx.deployment': spec.deployment,
    'gx.deployment_id': deploymentId,
    'gx.revision': metadata.name,
    ...(metadata.uid !== undefined && { 'gx.revision_id': metadata.uid }),
    ...(metadata.namespace !== undefined && { 'service.namespace': metadata.namespace }),
  };
  // Kubernetes names need none of the format's escapes.
  const pairs = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  const { headersSecret: secret } = otlp;
  // A collector's missing credential must not keep an agent from starting.
  const reference = (name: string): object => ({ secretKeyRef: { name, key: HEADERS, optional: true } });
  return [
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: otlp.endpoint },
    { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'http/json' },
    ...(secret === undefined ? [] : [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: reference(secret) }]),
    { name: 'OTEL_SERVICE_NAME', value: spec.deployment },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: pairs.join(',') },
  ];
}
