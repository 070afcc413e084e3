/** How an attendee can answer an invitation (PARTSTAT of RFC 5545). */
export const answers = ['ACCEPTED', 'TENTATIVE', 'DECLINED'] as const;
export type InvitationAnswer = (typeof answers)[number];
