import { defineModel, Type } from '../../../../pkg/index.ts';

const handled = { generation: Type.Integer(), by: Type.String(), term: Type.Integer() };

/** What both operators reconcile: stock-operator.go sets `stocked`, price-operator.ts sets `priced`. */
export const Shop = defineModel({
  group: 'clients.example.com',
  version: 'v1',
  kind: 'Shop',
  plural: 'shops',
  singular: 'shop',
  namespaced: true,
  spec: Type.Object({ items: Type.Integer({ minimum: 0, maximum: 5 }), text: Type.String() }),
  status: Type.Object({
    stocked: Type.Optional(Type.Object({ ...handled, items: Type.Integer() })),
    priced: Type.Optional(Type.Object({ ...handled, price: Type.Integer() })),
    conditions: Type.Optional(
      Type.Array(
        Type.Object({
          type: Type.String(),
          status: Type.String(),
          reason: Type.String(),
          message: Type.String(),
          observedGeneration: Type.Integer(),
          lastTransitionTime: Type.String(),
        }),
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
      ),
    ),
  }),
});

export const namespace = 'default';
export const shopLabel = 'clients.example.com/shop';

export function priceOf(text: string): number {
  return text.length;
}
