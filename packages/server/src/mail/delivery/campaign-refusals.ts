import type { DeliveryProblem } from './delivery-state.ts';

/** Why a message of a campaign that waits for an attempt is not sent any more. */
export const campaignRefusals = {
  suppressed: {
    code: 'addressSuppressed',
    message: 'The address gets no campaigns of this account any more.',
    cure: 'Nothing needs to be done.',
  },
  cancelled: {
    code: 'campaignCancelled',
    message: 'The campaign was cancelled.',
    cure: 'Nothing needs to be done.',
  },
} as const satisfies Record<string, Omit<DeliveryProblem, 'at'>>;

/** Whether the server itself ended a message of a campaign; null: it did not. */
export function readCampaignRefusal(problem: DeliveryProblem | null): keyof typeof campaignRefusals | null {
  if (problem?.code === campaignRefusals.suppressed.code) return 'suppressed';
  return problem?.code === campaignRefusals.cancelled.code ? 'cancelled' : null;
}
