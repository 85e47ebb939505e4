import * as langgraph from '@langchain/langgraph';
import {
  echo as makeEcho,
  steady as makeSteady,
  talk as makeTalk,
  tokens as makeTokens,
} from './define.ts';

export const echo = makeEcho(langgraph);
export const talk = makeTalk(langgraph);
export const tokens = makeTokens(langgraph);
export const steady = makeSteady(langgraph);
