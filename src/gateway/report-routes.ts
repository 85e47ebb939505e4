import type { Reports } from './reports.ts';
import { Type } from 'typebox';
import { answerJsonText, type Route, buildRouteMakers } from '../http/routes/route.ts';
import { REPORTS_PATH } from '../schema/wire/work-report.ts';

const query = Type.Object({
  instance: Type.Optional(Type.String()),
  cursor: Type.Optional(Type.Integer({ minimum: 0 })),
});

/**
 * Returns the routes of the operator: the reports of all deployments, with the key of this process. They have a port of
 * their own, because nobody else is to learn which deployments there are and how busy they are: the chart's
 * NetworkPolicy lets in the operator alone.
 */
export const buildReportRoutes = (reports: Reports, key: string): Route<undefined>[] => [
  buildRouteMakers<undefined>('System').get(REPORTS_PATH, {
    id: 'reports',
    summary: 'Reports of all deployments since a cursor',
    access: 'open',
    answers: { 200: { description: 'The page.' } },
    query,
    handler: ({ query: since }) => answerJsonText(reports.formatSince({ ...since, key })),
  }),
];
