(** The evaluator as OCaml. Trusted: this extraction, with natural numbers as machine integers. *)

Require Import ExtrOcamlBasic ExtrOcamlNatInt.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Evaluate Mechanised.Query Mechanised.EvaluateQuery
  Mechanised.Compile Mechanised.Engine Mechanised.Selected.

Extraction Language OCaml.
Extraction "extraction/proved.ml" query_answers tecs_answers strategy_answers regular takes_ends.
