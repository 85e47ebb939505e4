import type { Reports } from './reports.ts';
import type { TenantWords } from './tenant-words.ts';
import { Type } from 'typebox';
import { Unauthorized } from '../errors.ts';
import { readCredential } from '../http/callers/shown-key.ts';
import { BodyPlaces } from '../http/routes/admission.ts';
import { answerJson, answerJsonText, type Route, buildRouteMakers } from '../http/routes/route.ts';
import { BUDGETS_PATH, BudgetWords, BudgetWordsAnswer } from '../schema/wire/budget-words.ts';
import { REPORTS_PATH } from '../schema/wire/work-report.ts';

const route = buildRouteMakers<undefined>('System');

const MEBIBYTE = 1024 * 1024;
/** A word on 10,000 deployments with 8 budgets takes 3 MB. */
export const WORD_BODIES = {
  bytes: 6 * MEBIBYTE,
  selectionBytes: 4096,
  values: 1_000_000,
  listItems: 20_000,
};

const UNDER_WAY = 2 * WORD_BODIES.bytes;
/** Seconds in which a word must have come. */
const SECONDS = 10;

type ReportRouteDeps = {
  reports: Reports;
  tenantWords: TenantWords;
  /** Returns whether a key is that of the operator that leads. */
  isOfOperator: (key: string) => boolean;
};

const query = Type.Object({
  instance: Type.Optional(Type.String()),
  cursor: Type.Optional(Type.Integer({ minimum: 0 })),
});

/**
 * Returns the routes of the operator: the reports of all deployments, with the key of this process, and its word on the
 * budgets of tenants. They have a port of their own, because nobody else is to learn which deployments there are and
 * how busy they are: the chart's NetworkPolicy lets in the operator alone.
 */
export const buildReportRoutes = (
  { reports, tenantWords, isOfOperator }: ReportRouteDeps,
  key: string,
): Route<undefined>[] => {
  const places = new BodyPlaces('Too many words at a time; send them later.');
  return [
    route.get(REPORTS_PATH, {
      id: 'reports',
      summary: 'Reports of all deployments since a cursor',
      access: 'open',
      answers: { 200: { description: 'The page.' } },
      query,
      handler: ({ query: since }) => answerJsonText(reports.formatSince({ ...since, key })),
    }),
    route.put(BUDGETS_PATH, {
      id: 'tell_budgets',
      summary: 'Take how the budgets of tenants stand',
      access: 'open',
      admission: {
        seconds: SECONDS,
        admit: ({ headers, bytes }) => {
          if (!isOfOperator(readCredential(headers)?.text ?? ''))
            throw new Unauthorized('Send the key of the operator in X-Api-Key.');
          return places.enter(bytes, [{ name: 'all', bytes: UNDER_WAY }]);
        },
      },
      body: BudgetWords,
      answers: { 200: { description: 'Whether it is taken.', schema: BudgetWordsAnswer } },
      handler: ({ body }) => answerJson({ taken: tenantWords.take(body) }),
    }),
  ];
};
