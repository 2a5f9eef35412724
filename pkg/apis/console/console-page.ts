import type { ApiObject, JsonObject, ResourceType } from '#pkg/apimachinery/index';
import type { PolicyRule } from '../rbac/policy-rule.ts';

/** A page that a plugin adds to the console. */
export interface ConsolePageSpec {
  title: string;
  description?: string;
  /** Pages with a number come first, in its order. */
  order?: number;
  /** Default: `page`. */
  place?: 'page' | 'overview' | 'objectTab' | 'objectAction' | 'command' | 'userCenter';
  /** Whose objects have the tab or the action. */
  model?: string;
  /** Of an action; default `many`. */
  objects?: 'one' | 'many';
  /** Code of the plugin; else there is `content`. */
  frame?: {
    /** Of `ui/` in the plugin's folder, or made from `pages/`: `board.html`. */
    file: string;
    /** Of the files at present; the start of the plugin sets it. */
    hash?: string;
  };
  /** Parts that the console itself shows. */
  content?: JsonObject[];
  /** What an action or a command sends: a POST to an endpoint of the plugin, or a merge patch of each object. */
  action?: JsonObject;
  /** What requests of the page may do, of what its user may do. Default: nothing. */
  rules?: PolicyRule[];
}

export type ConsolePage = ApiObject<ConsolePageSpec> & { spec: ConsolePageSpec };

export const consolePageKind = 'ConsolePage';

export const consolePageType: ResourceType<ConsolePage> = {
  group: 'console.svc.run',
  version: 'v1alpha1',
  kind: consolePageKind,
  plural: 'consolepages',
  namespaced: false,
  hasStatusSubresource: false,
};
