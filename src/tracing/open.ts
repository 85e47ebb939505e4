import { readPlatformVersion } from '../config/own-version.ts';
import type { TracingSettings } from '../config/tracing.ts';
import type { TracedProcess, Tracing } from './spans.ts';

/** Opens the way to the collector. OpenTelemetry's packages are loaded only where there is one. */
export async function openTracing(
  settings: TracingSettings | undefined,
  process: TracedProcess,
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { OtelTracing } = await import('./otel.ts');
  return new OtelTracing(settings, { ...process, version: readPlatformVersion() });
}
