import { Type } from 'typebox';
import { json, routeFor, type Route } from '../http/route.ts';
import { REPORTS_PATH } from '../schema/wire/work-report.ts';
import type { Reports } from './reports.ts';

const query = Type.Object({ instance: Type.Optional(Type.String()), cursor: Type.Optional(Type.Integer({ minimum: 0 })) });

/**
 * Returns the routes of the operator: the reports of all deployments. They have a port of their own, because nobody
 * else is to learn which deployments there are and how busy they are: the chart's NetworkPolicy lets in the operator
 * alone.
 */
export const reportRoutes = (reports: Pick<Reports, 'since'>): Route<undefined>[] => [
  routeFor<undefined>()({
    method: 'get',
    path: REPORTS_PATH,
    id: 'reports',
    summary: 'Reports of all deployments since a cursor',
    tag: 'System',
    access: 'open',
    answers: { 200: { description: 'The page.' } },
    query,
    handler: ({ query: since }) => json(reports.since(since)),
  }),
];
