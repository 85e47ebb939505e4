import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { Unauthorized, Unavailable } from '../errors.ts';
import { Rate } from '../http/quota.ts';
import { json, routesOf, type Route } from '../http/route.ts';
import { credentialOf } from '../http/shown-key.ts';
import { DNS_LABEL } from '../schema/platform/container.ts';
import { workOf, workOfServing, USUAL_SLOTS, workersAsked, type WorkSummary } from '../schema/wire/work-summary.ts';
import { ReportAnswer } from '../schema/wire/report-answer.ts';
import { WorkReport, workPath } from '../schema/wire/work-report.ts';
import type { KnownDeployments } from './known-deployments.ts';
import type { Reports } from './reports.ts';

/**
 * A report has a dozen values. While a revision is tried out it has counts of some revisions, too, with up to four
 * histograms each: 8 of them with 146 full buckets are some 78 kB.
 */
export const REPORT_BODIES = { bytes: 131_072, selectionBytes: 4096, values: 40_000, listItems: 10 };

type Parts = {
  known: Pick<KnownDeployments, 'get'>;
  reports: Reports;
  /** Returns the keys by which the processes of the gateway sign. */
  gatewayKeys: () => string[];
  isReady: () => boolean;
  perMinute?: number;
};

const label = Type.String({ maxLength: 63, pattern: DNS_LABEL });
const params = Type.Object({ namespace: label, deployment: label });
const path = workPath('{namespace}', '{deployment}');
const route = routesOf<undefined>('Work');
const REFUSED = {
  401: { description: 'No key of this deployment.' },
  429: { description: 'Too many requests for this deployment.' },
  503: { description: 'The deployments are not known yet.' },
};

/** Requests with the key of one deployment: a thousand pods with work report 200 times a second for a while. */
const PER_MINUTE = 6000;

/** Returns the routes at which agents report their work and scalers read the counts, with the deployment's own key. */
export function workRoutes({ known, reports, gatewayKeys, isReady, perMinute = PER_MINUTE }: Parts): Route<undefined>[] {
  const rate = new Rate({ perMinute, message: 'Too many reports from this deployment; report later.' });
  const admitted = (of: { namespace: string; deployment: string }, headers: IncomingHttpHeaders): string => {
    if (!isReady()) throw new Unavailable('The deployments are not known yet.');
    const name = `${of.namespace}/${of.deployment}`;
    const key = credentialOf(headers)?.text;
    // An unknown deployment is refused in the same words, so that nobody learns that it does not exist.
    if (key === undefined || known.get(name)?.isOpenedBy(key) !== true)
      throw new Unauthorized('Send a key of this deployment in X-Api-Key.');
    rate.take(name);
    return name;
  };
  const shared = { params, access: 'open' } as const;
  return [
    route.post(path, {
      ...shared,
      id: 'report_work',
      summary: 'Report the work of a process',
      body: WorkReport,
      answers: { 200: { description: 'Kept.', schema: ReportAnswer }, ...REFUSED },
      handler: ({ params: of, headers, body }) => {
        const name = admitted(of, headers);
        reports.keep(name, body);
        const plan = known.get(name)?.rollout;
        return json({ gateway_keys: gatewayKeys(), ...(plan && { rollout: plan }) });
      },
    }),
    route.get(path, {
      ...shared,
      id: 'read_work',
      summary: 'Read the work of a deployment, as counts',
      answers: { 200: { description: 'The counts; nulls where nothing was reported lately.' }, ...REFUSED },
      handler: ({ params: of, headers }) => {
        const { due, running, slots = USUAL_SLOTS, nextDue = null } = servingWork(workOf(reports.of(admitted(of, headers))));
        const workers = due === null ? null : workersAsked({ due, running }, slots);
        return json({ due, running, slots, workers, next_due: nextDue });
      },
    }),
  ];
}

/** Returns the work of the revision that serves, whose queue pods another scaler sets. */
const servingWork = (work: WorkSummary | undefined) => (work === undefined ? NONE : workOfServing(work));

const NONE = { due: null, running: null, slots: undefined, nextDue: undefined };
