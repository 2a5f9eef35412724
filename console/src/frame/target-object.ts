import type { FrameObject } from '@svc/client/page';
import { apiVersionOf, type ModelInfo } from '../server/model-info.ts';

/** An object that a page or a request of a plugin is about. */
export interface TargetObject {
  model: ModelInfo;
  /** Empty for a model without namespaces. */
  namespace: string;
  name: string;
  /** Default: whichever object has the name. */
  uid?: string;
}

/** As a frame is told. */
export function frameObjectOf({ model, namespace, name }: TargetObject): FrameObject {
  return { apiVersion: apiVersionOf(model), kind: model.kind, ...(namespace === '' ? {} : { namespace }), name };
}
