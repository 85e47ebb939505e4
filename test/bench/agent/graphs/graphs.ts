import * as langgraph from '@langchain/langgraph';
import { echo as makeEcho, steady as makeSteady, talk as makeTalk } from './define.ts';

export const echo = makeEcho(langgraph);
export const talk = makeTalk(langgraph);
export const steady = makeSteady(langgraph);
