"""Traces: one per claim, however long its process waits; docs/traces.md lists every span.

| span                                 | kind     | is                                                  |
|--------------------------------------|----------|-----------------------------------------------------|
| claim-ready, email-queued            | producer | a process is asked for: a claim's trace begins      |
| job TYPE                             | consumer | a handler at work on one delivery of a job          |
| decision                             | internal | from the question to the decision on record         |
| database read / write / shared write | client   | an access, or the wait for a commit that is shared  |
| payer send                           | client   | one send: file, fence, exchanges with the payer     |
| soap exchange                        | client   | one request to a payer, and its answer              |
| mail send                            | client   | one mail handed to its server                       |

Nothing of a span is longer than its work: what waits is the engine. No attribute holds what others wrote.
"""
