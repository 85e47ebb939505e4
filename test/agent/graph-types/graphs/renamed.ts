export { graph as helpdesk } from './support.ts';
