import { Type, type Static } from 'typebox';
import { Invalid, Unauthorized, Unavailable } from '../errors.ts';
import { BodyPlaces } from '../http/routes/admission.ts';
import { Rate } from '../http/limits/quota.ts';
import {
  answerJson,
  buildRouteMakers,
  type BodyAdmission,
  type Route,
} from '../http/routes/route.ts';
import { readCredential } from '../http/callers/shown-key.ts';
import { DNS_LABEL } from '../schema/dns-label.ts';
import {
  filterServingWork,
  USUAL_SLOTS,
  computeNeededWorkers,
  type WorkSummary,
} from '../schema/wire/work-summary.ts';
import { ReportAnswer } from '../schema/wire/report-answer.ts';
import { WorkReport, buildWorkPath } from '../schema/wire/work-report.ts';
import type { KnownDeployments } from './known-deployments.ts';
import type { Reports } from './reports.ts';
import type { TenantWords } from './tenant-words.ts';

/**
 * A report has a dozen values. While a revision is tried out it has counts of some revisions, too, with up to four
 * histograms each: 8 of them with 146 full buckets are some 78 kB.
 */
export const REPORT_BODIES = {
  bytes: 131_072,
  selectionBytes: 4096,
  values: 40_000,
  listItems: 10,
};

type WorkRouteDeps = {
  known: KnownDeployments;
  reports: Reports;
  tenantWords: TenantWords;
  gatewayKeys: () => string[];
  isReady: () => boolean;
  perMinute?: number;
};

const label = Type.String({ maxLength: 63, pattern: DNS_LABEL });
const params = Type.Object({ namespace: label, deployment: label });
const path = buildWorkPath('{namespace}', '{deployment}');
const route = buildRouteMakers<undefined>('Work');
const REFUSED = {
  401: { description: 'No key of this deployment.' },
  429: { description: 'Too many requests for this deployment, or too large ones.' },
  503: { description: 'The deployments are not known yet.' },
};

const MEBIBYTE = 1024 * 1024;
/** Requests with the key of one deployment: a thousand pods with work report 200 times a second for a while. */
const PER_MINUTE = 6000;
/** Bytes of its reports: 5 kB for each. To read and check them takes 3 % of a processor. */
const BYTES_PER_MINUTE = 32 * MEBIBYTE;
/** Bytes of reports that are read at a time, and the seconds in which each must have come. */
const UNDER_WAY = {
  deployment: 4 * MEBIBYTE,
  address: 8 * MEBIBYTE,
  namespace: 12 * MEBIBYTE,
  all: 24 * MEBIBYTE,
};
const SECONDS = 10;

const formatName = ({ namespace, deployment }: Static<typeof params>): string =>
  `${namespace}/${deployment}`;

/**
 * Returns the routes at which agents report their work and scalers read the counts, with the deployment's own key.
 * Nothing of a body is read before the key is known.
 */
export function buildWorkRoutes({
  known,
  reports,
  tenantWords,
  gatewayKeys,
  isReady,
  perMinute = PER_MINUTE,
}: WorkRouteDeps): Route<undefined>[] {
  const message = 'Too many reports from this deployment; report later.';
  const [rate, bytesRate] = [
    new Rate({ perMinute, message }),
    new Rate({ perMinute: BYTES_PER_MINUTE, message }),
  ];
  const places = new BodyPlaces(message);
  const admission: BodyAdmission = {
    seconds: SECONDS,
    admit: ({ params: of, headers, source, bytes }) => {
      if (!isReady()) throw new Unavailable('The deployments are not known yet.');
      // The route's schema has accepted the parameters.
      const { namespace, deployment } = of as Static<typeof params>;
      const name = formatName({ namespace, deployment });
      const key = readCredential(headers)?.text;
      // An unknown deployment is refused in the same words, so that nobody learns that it does not exist.
      if (key === undefined || known.get(name)?.isOpenedBy(key) !== true)
        throw new Unauthorized('Send a key of this deployment in X-Api-Key.');
      rate.take(name);
      bytesRate.take(name, bytes);
      return places.enter(bytes, [
        { name: `deployment ${name}`, bytes: UNDER_WAY.deployment },
        { name: `address ${source}`, bytes: UNDER_WAY.address },
        { name: `namespace ${namespace}`, bytes: UNDER_WAY.namespace },
        { name: 'all', bytes: UNDER_WAY.all },
      ]);
    },
  };
  const shared = { params, admission, access: 'open' } as const;
  return [
    route.post(path, {
      ...shared,
      id: 'report_work',
      summary: 'Report the work of a process',
      body: WorkReport,
      answers: { 200: { description: 'Kept.', schema: ReportAnswer }, ...REFUSED },
      handler: ({ params: of, body }) => {
        refuseTwice(body);
        const { rollout: plan, compared } = known.get(formatName(of)) ?? {};
        reports.keep(formatName(of), body, compared);
        const budgets = tenantWords.get(formatName(of));
        return answerJson({
          gateway_keys: gatewayKeys(),
          ...(plan && { rollout: plan }),
          ...(budgets && { budgets }),
        });
      },
    }),
    route.get(path, {
      ...shared,
      id: 'read_work',
      summary: 'Read the work of a deployment, as counts',
      answers: {
        200: { description: 'The counts; nulls where nothing was reported lately.' },
        ...REFUSED,
      },
      handler: ({ params: of }) => {
        const {
          due,
          running,
          slots = USUAL_SLOTS,
          nextDue = null,
        } = pickServingWork(reports.summarizeWork(formatName(of)));
        const workers = due === null ? null : computeNeededWorkers({ due, running }, slots);
        return answerJson({ due, running, slots, workers, next_due: nextDue });
      },
    }),
  ];
}

/** Refuses counts of the same revision twice, because each is compared with those of the report before. */
function refuseTwice({ ended = [] }: WorkReport): void {
  const revisions = ended.map(({ revision }) => revision);
  const twice = revisions.findIndex((revision, at) => revisions.indexOf(revision) < at);
  if (twice >= 0)
    throw new Invalid([
      {
        loc: ['body', 'ended', twice, 'revision'],
        msg: 'This revision is in the list twice',
        type: 'value_error',
      },
    ]);
}

/** Returns the work of the revision that serves, whose queue pods another scaler sets. */
const pickServingWork = (work: WorkSummary | undefined) =>
  work === undefined ? NONE : filterServingWork(work);

const NONE = { due: null, running: null, slots: undefined, nextDue: undefined };
