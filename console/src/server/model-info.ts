import type { AnyObject, IndexTypes, Resource, WebModel } from '@svc/client';
import { server } from './server.ts';

/** A model as discovery tells it, in its preferred version. */
export interface ModelInfo extends WebModel<AnyObject, IndexTypes> {
  verbs: readonly string[];
  shortNames: readonly string[];
  /** All that are served, the preferred one first. */
  versions: readonly string[];
}

export type AnyResource = Resource<AnyObject>;

export function resourceOf(model: ModelInfo, namespace?: string): AnyResource {
  return server.resource(model, namespace === undefined ? {} : { namespace });
}

/** `posts.blog.example.com`: the name of its definition, if it has one. */
export function modelName({ group, plural }: Pick<ModelInfo, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

export function apiVersionOf({ group, version }: Pick<ModelInfo, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}
