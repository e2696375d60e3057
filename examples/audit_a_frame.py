"""Audit a pandas or Polars frame, and read one number, one table and one file from the result."""

from __future__ import annotations

import equipoise


def main() -> None:
    cohort = equipoise.load("adult").where("test")
    frame = cohort.to_frame()  # your own frame here
    result = equipoise.audit(
        frame, target="income", prediction="predicted", favourable=">50K", sensitive_features=["sex", "race"]
    )
    print(result)

    print("\nDP by sex:", round(result.value("DP", attribute="sex"), 3))
    for record in result.find("TPR", attribute="race", scope="favourable"):
        print(f"{record.group:<20} {record.numerator:>5.0f} of {record.denominator:>5.0f} are found")
    result.to_json("audit.json")


if __name__ == "__main__":
    main()
