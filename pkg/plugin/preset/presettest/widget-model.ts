import { Type } from 'typebox';
import type { AnyObject } from '#pkg/apimachinery/index';
import { defineModel } from '../../model/define-model.ts';
import { index } from '../../model/model-index.ts';

const named = (kind: string) => ({
  group: 'preset.example.com',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
});

/** A cluster-scoped model with a default, a unique value and a status subresource. */
export const Widget = defineModel({
  ...named('Widget'),
  spec: Type.Object({
    color: Type.Optional(Type.String()),
    size: Type.Integer({ default: 3, maximum: 9 }),
    slug: Type.Optional(Type.String()),
  }),
  status: Type.Object({ ready: Type.Optional(Type.Boolean()) }),
  indexes: [index('spec.slug', { unique: true })],
});

export const Gadget = defineModel({
  ...named('Gadget'),
  namespaced: true,
  spec: Type.Object({ color: Type.Optional(Type.String()) }),
});

export function widget(name: string, spec: Record<string, unknown> = {}, labels?: Record<string, string>): AnyObject {
  return {
    apiVersion: 'preset.example.com/v1',
    kind: 'Widget',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec,
  };
}
