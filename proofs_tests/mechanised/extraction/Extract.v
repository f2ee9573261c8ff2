(** The evaluators as OCaml. Trusted: this extraction, with natural numbers as machine integers. *)

Require Import ExtrOcamlBasic ExtrOcamlNatInt ZArith.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Evaluate Mechanised.Query Mechanised.EvaluateQuery
  Mechanised.Compile Mechanised.Engine Mechanised.Selected Mechanised.GlobalTecs Mechanised.Certificate.

Extraction Language OCaml.
Extraction "extraction/proved.ml" query_answers count count_up tecs_answers strategy_answers global_answers regular takes_ends
  is_bisimulation
  Z.add Z.mul Z.opp Z.double Z.modulo Z.compare.
