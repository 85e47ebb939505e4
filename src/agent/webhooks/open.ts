import type { WebhookConfig } from '../../config/agent/webhooks.ts';
import { readProcessEnv } from '../../config/env.ts';
import type { Log } from '../../log.ts';
import type { GxJson } from '../../schema/agent/gx-json.ts';
import type { Db } from '../db/base/pool.ts';
import { OwnRouteTargets } from './own-routes.ts';
import { Courier, type NotificationOf } from './courier.ts';
import { buildWebhookHeaders } from './headers.ts';
import { Lookups } from '../../http/outgoing/lookups.ts';
import type { Proxies } from '../../http/outgoing/proxies.ts';
import { buildUrlPolicy } from './url-rules.ts';
import { Webhooks } from './webhooks.ts';

type WebhookOptions = {
  db: Db;
  worker: string;
  config: { webhooks: WebhookConfig; proxies?: Proxies | undefined };
  settings: GxJson;
  env: Record<string, string>;
  log: Log;
} & {
  notification: NotificationOf;
};

const WITHHELD =
  'these webhooks.headers of gx.json are sent to nobody: callers choose the URLs of webhooks, so webhooks.url.allowed_domains must list the hosts that may get them';

/**
 * Opens the webhooks, which report the ends of runs. `env` is that of gx.json, for variables that this process does not
 * have. Throws a `StartError` for headers that can't be used.
 */
export function openWebhooks({
  db,
  worker,
  config: { webhooks: config, proxies },
  settings,
  env,
  notification,
  log,
}: WebhookOptions): {
  webhooks: Webhooks;
  courier: Courier;
} {
  const { webhooks: given = {}, http } = settings;
  const variables = readProcessEnv();
  const policy = buildUrlPolicy(given, config);
  const enabled = http?.disable_webhooks !== true;
  const headers = buildWebhookHeaders(given, (name) => variables[name] ?? env[name]);
  const listed = policy.allowedDomains !== undefined;
  const withheld = enabled && !listed ? Object.keys(headers) : [];
  if (withheld.length > 0) log.warn({ withheld }, WITHHELD);
  const sending = {
    policy,
    enabled,
    // The caller that starts a run names its URL, so it would receive these headers.
    headers: listed ? headers : {},
    withheld,
    keys: config.keys,
    fields: given.allowed_fields,
    timeoutSeconds: config.timeoutSeconds,
  };
  const ownRoutes = new OwnRouteTargets({
    permitted: given.url?.disable_loopback === false,
    maxLength: policy.maxLength,
  });
  const courier = new Courier({
    db,
    worker,
    sending,
    lookups: new Lookups(proxies),
    ownRoutes,
    notification,
    log,
  });
  return {
    webhooks: new Webhooks({ policy, enabled, withheld, courier, ownRoutes, log }),
    courier,
  };
}
